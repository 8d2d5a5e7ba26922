// Which tile gemv_t_05_by_shape takes for which matrix; test_gemv.cpp asks, too.
#pragma once
#include <algorithm>
#include <cstddef>

struct GemvTShape {
  unsigned columns, block, width;  // columns per thread, threads per block, threads per row of a tile
  bool fixed_width;                // a kernel for this width: 8, 16 or 32
  std::size_t tiles, slices;       // slices of the rows, at most; 0: as few as fill the GPU
};

// vector: four columns of a row may be loaded as a float4. small: A is not much larger than L2. k is not 0.
inline GemvTShape gemv_t_shape(std::size_t m, std::size_t k, bool vector, bool small, std::size_t sms) {
  const unsigned columns = vector || k > 32 ? 4 : 1;
  const std::size_t units = (k + columns - 1) / columns;  // threads for a whole row
  const auto tiles_of = [&](std::size_t width) { return (units + width - 1) / width; };
  const auto tiled = [&](unsigned block, std::size_t most) {  // equal tiles, at most `most` threads wide
    const std::size_t tiles = tiles_of(most);
    return GemvTShape{columns, block, static_cast<unsigned>((units + tiles - 1) / tiles), false, tiles, 0};
  };
  const auto fixed = [&](unsigned width) {
    return GemvTShape{4, 1024, width, true, tiles_of(width), std::max<std::size_t>(sms / tiles_of(width), 1)};
  };
  // few rows: tiles so wide that each thread has rows to add
  if (m < 64) return tiled(256, m <= 8 ? 256 : m <= 32 ? 128 : 64);
  // unaligned rows: large blocks for tall matrices, since a second kernel adds the sums of fewer slices
  if (!vector) return columns == 1 ? tiled(1024, 64) : tiled(m >= k ? 1024 : 256, 32);
  // one narrow tile per SM and no second kernel, where A is small and not tall; for others narrow tiles are slow
  for (const unsigned width : {8, 16}) {
    if (small && m <= k && tiles_of(width) <= sms && 2 * tiles_of(width) > sms) return fixed(width);
  }
  // else a warp reads 512 bytes of a row, if no more than a third of its lanes idle
  return 3 * units >= 2 * 32 * tiles_of(32) ? fixed(32) : tiled(1024, 64);
}
