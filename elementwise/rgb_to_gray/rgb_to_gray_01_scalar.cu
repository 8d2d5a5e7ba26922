// Problem:  a pixel is three bytes in and one byte out. No load has three bytes.
// Idea:     one thread per pixel, three loads of a byte. Rows have no gaps, so the image is one long row.
// Expect:   0.3 to 0.5 of a copy at 8192 x 8192. A warp's three loads share 96 bytes, 3 sectors, so a thread has 3
//           bytes in flight; add_half2_01, with 4 bytes, has 0.50 of a copy (H200) and 0.65 (H100).
// Measured: 0.36 of a copy at 8192x8192 (H200); 0.47 (H100).
// Next:     what is the smallest number of pixels that is a whole number of words?
#include "rgb_to_gray.cuh"

// The products are below 2^24: no overflow in 32 bits.
__device__ static unsigned luma(unsigned r, unsigned g, unsigned b) {
  return (19595 * r + 38470 * g + 7471 * b + 32768) >> 16;
}

__global__ void rgb_to_gray_scalar(const std::uint8_t* __restrict__ rgb, std::uint8_t* __restrict__ gray,
                                   std::size_t n) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) gray[i] = static_cast<std::uint8_t>(luma(rgb[3 * i], rgb[3 * i + 1], rgb[3 * i + 2]));
}

static void launch(const std::uint8_t* rgb, std::uint8_t* gray, std::size_t height, std::size_t width) {
  const std::size_t n = height * width;
  if (n == 0) return;  // a grid of 0 blocks is an error
  constexpr int block = 256;
  rgb_to_gray_scalar<<<static_cast<unsigned>(ceil_div(n, block)), block>>>(rgb, gray, n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(RgbToGray, launch);
