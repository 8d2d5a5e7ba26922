// Which tile gemv_t_05_by_shape takes for which matrix. Apart from the step, so that a test can ask.
#pragma once
#include <algorithm>
#include <cstddef>

struct GemvTShape {
  unsigned columns, block, width;  // columns per thread, threads per block, threads per row of a tile
  bool fixed_width;                // a kernel for this width: 8, 16 or 32
  std::size_t tiles, slices;       // slices of the rows, if there are so many; 0: as few as fill the GPU
};

// vector: four columns of a row may be loaded as a float4. small: A is not much larger than L2. k is not 0.
inline GemvTShape gemv_t_shape(std::size_t m, std::size_t k, bool vector, bool small, std::size_t sms) {
  const unsigned columns = vector || k >= 512 ? 4 : 1;
  const std::size_t units = (k + columns - 1) / columns;  // threads for a whole row
  const auto tiled = [&](unsigned block, std::size_t most, bool fill) {
    const std::size_t tiles = (units + most - 1) / most;
    const auto width = static_cast<unsigned>((units + tiles - 1) / tiles);
    return GemvTShape{columns, block, width, false, tiles, fill ? 0 : std::max<std::size_t>(2 * sms / tiles, 1)};
  };
  // Few rows: tiles so wide that each thread has rows to add.
  if (m < 64) return tiled(256, m <= 8 ? 256 : m <= 32 ? 128 : 64, true);
  // Step 04's tiles, where they keep 9 tenths of the SMs busy: one block per SM. Narrow tiles of a large matrix are
  // slow, since neighbouring pieces of a row are read at different times.
  if (vector) {
    const std::size_t per_sm = (units + sms - 1) / sms;
    const unsigned width = per_sm <= 8 ? 8 : per_sm <= 16 ? 16 : 32;
    const std::size_t tiles = (units + width - 1) / width, slices = sms / tiles;
    const bool busy = slices <= 8 && 10 * tiles * slices >= 9 * sms;
    if (busy && (small || width == 32)) return {columns, 1024, width, true, tiles, slices};
  }
  // Few columns: the whole row is a tile, and no lane is idle.
  if (units <= 256 || columns == 1) return tiled(1024, columns == 1 ? 64 : 256, false);
  // Many of both.
  return tiled(256, vector ? 64 : 32, true);
}
