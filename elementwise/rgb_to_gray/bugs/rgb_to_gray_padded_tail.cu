// bug: the last thread loads four whole pixels, and only its stores check n: it reads up to 9 bytes past the end
// caught by: cpu-asan forward | heap-buffer-overflow
// not caught by: gpu | where the last pixel ends the allocation, the image is not aligned and goes by bytes
// stage: memory
#include "../rgb_to_gray.cuh"

__global__ void rgb_to_gray_padded_tail(const std::uint8_t* __restrict__ rgb, std::uint8_t* __restrict__ gray,
                                        std::size_t n) {
  const std::size_t i = 4 * (std::size_t{blockIdx.x} * blockDim.x + threadIdx.x);
  if (i >= n) return;
  std::uint8_t bytes[12];
  for (int k = 0; k < 12; ++k) bytes[k] = rgb[3 * i + k];
  for (int k = 0; k < 4 && i + k < n; ++k) {
    gray[i + k] = static_cast<std::uint8_t>(
        (19595u * bytes[3 * k] + 38470u * bytes[3 * k + 1] + 7471u * bytes[3 * k + 2] + 32768u) >> 16);
  }
}

static void launch(const std::uint8_t* rgb, std::uint8_t* gray, std::size_t height, std::size_t width) {
  const std::size_t n = height * width;
  if (n == 0) return;
  constexpr int block = 256;
  rgb_to_gray_padded_tail<<<static_cast<unsigned>(ceil_div(n, 4 * block)), block>>>(rgb, gray, n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(RgbToGray, launch);
