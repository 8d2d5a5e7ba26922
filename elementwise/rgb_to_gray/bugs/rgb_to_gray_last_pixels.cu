// bug: n / 4 threads of four pixels each, rounded down: no thread has the last n % 4 pixels
// caught by: cpu forward | was never written
// caught by: gpu | was never written
// stage: right
#include "../rgb_to_gray.cuh"

__global__ void rgb_to_gray_last_pixels(const std::uint8_t* __restrict__ rgb, std::uint8_t* __restrict__ gray,
                                        std::size_t n) {
  const std::size_t i = 4 * (std::size_t{blockIdx.x} * blockDim.x + threadIdx.x);
  if (i + 4 > n) return;
  for (std::size_t k = i; k < i + 4; ++k) {
    gray[k] = static_cast<std::uint8_t>(
        (19595u * rgb[3 * k] + 38470u * rgb[3 * k + 1] + 7471u * rgb[3 * k + 2] + 32768u) >> 16);
  }
}

static void launch(const std::uint8_t* rgb, std::uint8_t* gray, std::size_t height, std::size_t width) {
  const std::size_t n = height * width;
  if (n < 4) return;
  constexpr int block = 256;
  rgb_to_gray_last_pixels<<<static_cast<unsigned>(ceil_div(n / 4, block)), block>>>(rgb, gray, n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(RgbToGray, launch);
