// Problem:  step 01 loads and stores single bytes, four requests for each pixel.
// Idea:     four pixels are 12 bytes, three words. A thread loads them, extracts the bytes and stores four gray bytes
//           as one word. If a pointer is not a multiple of 4, or fewer than four pixels are left, it uses bytes.
// Expect:   0.85 to 0.97 of a copy at 8192 x 8192: the accesses of vec3_norm_01, 12 sectors per load request, with 12
//           bytes in flight per thread.
// Measured: 2.37x step 01, 0.86 of a copy at 8192x8192 (H200); 1.98x, 0.94 (H100).
// Next:     what is the smallest number of pixels that is a whole number of 16-byte units?
#include "rgb_to_gray.cuh"

__device__ static unsigned luma(unsigned r, unsigned g, unsigned b) {
  return (19595 * r + 38470 * g + 7471 * b + 32768) >> 16;
}

// Returns the four gray pixels of R0 G0 B0 R1 | G1 B1 R2 G2 | B2 R3 G3 B3. The first byte of a word is the lowest.
__device__ static unsigned luma4(unsigned a, unsigned b, unsigned c) {
  return luma(a & 255, a >> 8 & 255, a >> 16 & 255) | luma(a >> 24, b & 255, b >> 8 & 255) << 8 |
         luma(b >> 16 & 255, b >> 24, c & 255) << 16 | luma(c >> 8 & 255, c >> 16 & 255, c >> 24) << 24;
}

__global__ void rgb_to_gray_words(const std::uint8_t* __restrict__ rgb, std::uint8_t* __restrict__ gray, std::size_t n,
                                  bool aligned) {
  const std::size_t i = 4 * (std::size_t{blockIdx.x} * blockDim.x + threadIdx.x);
  if (aligned && i + 4 <= n) {
    const unsigned* words = reinterpret_cast<const unsigned*>(rgb + 3 * i);
    *reinterpret_cast<unsigned*>(gray + i) = luma4(words[0], words[1], words[2]);
  } else {
    for (std::size_t k = i; k < n && k < i + 4; ++k) {
      gray[k] = static_cast<std::uint8_t>(luma(rgb[3 * k], rgb[3 * k + 1], rgb[3 * k + 2]));
    }
  }
}

static void launch(const std::uint8_t* rgb, std::uint8_t* gray, std::size_t height, std::size_t width) {
  const std::size_t n = height * width;
  if (n == 0) return;
  constexpr int block = 256;
  const auto grid = static_cast<unsigned>(ceil_div(n, 4 * block));
  rgb_to_gray_words<<<grid, block>>>(rgb, gray, n, aligned_for<unsigned>(rgb, gray));
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(RgbToGray, launch);
