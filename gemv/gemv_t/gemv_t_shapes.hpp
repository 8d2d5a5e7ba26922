// The tile that gemv_t_05_by_shape uses for a matrix, chosen by its shape. test_gemv.cpp uses it, too.
#pragma once
#include <algorithm>
#include <cstddef>

struct GemvTShape {
  unsigned columns, block, width;  // columns per thread, threads per block, threads per row of a tile
  bool fixed_width;                // the kernel is compiled for this width: 8, 16 or 32
  std::size_t tiles, slices;       // tiles along k; most slices of the rows, 0: as few as fill the GPU
};

// Returns the tile; k must not be 0. vector: float4 loads of a row are possible. small: A is not much larger than L2.
inline GemvTShape gemv_t_shape(std::size_t m, std::size_t k, bool vector, bool small, std::size_t sms) {
  const unsigned columns = vector || k > 32 ? 4 : 1;
  const std::size_t units = (k + columns - 1) / columns;  // threads that cover a row
  const auto tiles_of = [&](std::size_t width) { return (units + width - 1) / width; };
  const auto tiled = [&](unsigned block, std::size_t most) {  // equal tiles, at most `most` threads wide
    const std::size_t tiles = tiles_of(most);
    return GemvTShape{columns, block, static_cast<unsigned>((units + tiles - 1) / tiles), false, tiles, 0};
  };
  const auto fixed = [&](unsigned width) {
    return GemvTShape{4, 1024, width, true, tiles_of(width), std::max<std::size_t>(sms / tiles_of(width), 1)};
  };
  // few rows: wide tiles, so that every thread has rows to add
  if (m < 64) return tiled(256, m <= 8 ? 256 : m <= 32 ? 128 : 64);
  // unaligned rows: large blocks for tall matrices, which leave fewer slices for the second kernel to add
  if (!vector) return columns == 1 ? tiled(1024, 64) : tiled(m >= k ? 1024 : 256, 32);
  // small A that is not tall: one narrow tile per SM and no second kernel; elsewhere narrow tiles are slow
  for (const unsigned width : {8, 16}) {
    if (small && m <= k && tiles_of(width) <= sms && 2 * tiles_of(width) > sms) return fixed(width);
  }
  // otherwise a warp reads 512 bytes of a row, if at most a third of its lanes idle
  return 3 * units >= 2 * 32 * tiles_of(32) ? fixed(32) : tiled(1024, 64);
}
