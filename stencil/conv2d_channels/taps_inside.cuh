// Which taps of a 3 x 3 filter are inside the image.
#pragma once
#include <cstdint>

// Bit 3 i + j: is the pixel i - 1 rows below and j - 1 columns to the right of `pixel` in the same image? Pixels are
// numbered through all images of H x W; from `pixels` on, below 2^31 all of them, no tap is inside.
__device__ inline unsigned taps_inside(std::int64_t pixel, std::int64_t pixels, int H, int W) {
  if (pixel >= pixels) return 0;
  const int h = static_cast<unsigned>(pixel) / W % H, w = static_cast<unsigned>(pixel) % W;
  unsigned taps = 0;
#pragma unroll
  for (int tap = 0; tap < 9; ++tap) {
    const int row = h + tap / 3 - 1, col = w + tap % 3 - 1;
    if (row >= 0 && row < H && col >= 0 && col < W) taps |= 1u << tap;
  }
  return taps;
}
