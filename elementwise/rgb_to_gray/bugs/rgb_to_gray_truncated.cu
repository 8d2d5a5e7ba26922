// bug: a float sum is cast to a byte, which truncates: half of the pixels are one too dark
// caught by: cpu forward | is wrong
// caught by: gpu | is wrong
// stage: right
#include "../rgb_to_gray.cuh"

__global__ void rgb_to_gray_truncated(const std::uint8_t* __restrict__ rgb, std::uint8_t* __restrict__ gray,
                                      std::size_t n) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float luma = 0.299f * rgb[3 * i] + 0.587f * rgb[3 * i + 1] + 0.114f * rgb[3 * i + 2];
  gray[i] = static_cast<std::uint8_t>(luma);
}

static void launch(const std::uint8_t* rgb, std::uint8_t* gray, std::size_t height, std::size_t width) {
  const std::size_t n = height * width;
  if (n == 0) return;
  constexpr int block = 256;
  rgb_to_gray_truncated<<<static_cast<unsigned>(ceil_div(n, block)), block>>>(rgb, gray, n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(RgbToGray, launch);
