// Tests which taps of a 3 x 3 filter are inside the image.
#pragma once
#include <cstdint>

// Returns a mask: bit 3 i + j is set if the pixel i - 1 rows below and j - 1 columns to the right of `pixel` is in the
// same image. The `pixels` pixels, below 2^31, are numbered through all images of H x W. The mask is 0 past the last.
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
