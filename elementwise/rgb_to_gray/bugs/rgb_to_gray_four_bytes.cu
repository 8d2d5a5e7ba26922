// bug: loads four bytes for a pixel of three: at odd addresses, and the last one reads past the end
// caught by: cpu forward | misaligned address
// caught by: cpu-asan forward | misaligned address
// caught by: gpu | misaligned address
// stage: memory
#include "../rgb_to_gray.cuh"

__global__ void rgb_to_gray_four_bytes(const std::uint8_t* __restrict__ rgb, std::uint8_t* __restrict__ gray,
                                       std::size_t n) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const uchar4 pixel = *reinterpret_cast<const uchar4*>(rgb + 3 * i);
  gray[i] = static_cast<std::uint8_t>((19595u * pixel.x + 38470u * pixel.y + 7471u * pixel.z + 32768u) >> 16);
}

static void launch(const std::uint8_t* rgb, std::uint8_t* gray, std::size_t height, std::size_t width) {
  const std::size_t n = height * width;
  if (n == 0) return;
  constexpr int block = 256;
  rgb_to_gray_four_bytes<<<static_cast<unsigned>(ceil_div(n, block)), block>>>(rgb, gray, n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(RgbToGray, launch);
