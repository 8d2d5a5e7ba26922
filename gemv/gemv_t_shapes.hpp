// Which tile gemv_t_05_by_shape takes for which matrix. Apart from the step, so that a test can ask.
#pragma once
#include <algorithm>
#include <cstddef>

struct GemvTShape {
  unsigned columns, block, width;  // columns per thread, threads per block, threads per row of a tile
  std::size_t tiles, waves;        // waves: with slices of the rows there are to be so many; 0: as few as fill the GPU
};

// vector: four columns of a row may be loaded as a float4. small: A is not much larger than L2. k is not 0.
inline GemvTShape gemv_t_shape(std::size_t m, std::size_t k, bool vector, bool small, std::size_t sms) {
  const unsigned columns = vector || k >= 512 ? 4 : 1;
  const std::size_t units = (k + columns - 1) / columns;  // threads for a whole row
  const auto tiled = [&](unsigned block, std::size_t most, std::size_t waves) {
    const std::size_t tiles = (units + most - 1) / most;
    return GemvTShape{columns, block, static_cast<unsigned>((units + tiles - 1) / tiles), tiles, waves};
  };
  // Few rows: tiles so wide that each thread has rows to add.
  if (m < 64) return tiled(256, m <= 8 ? 256 : m <= 32 ? 128 : 64, 0);
  // One tile per SM, with no second kernel. Narrow tiles of a large matrix are slow: neighbouring pieces of a row are
  // read at different times.
  const std::size_t per_sm = (units + sms - 1) / sms;
  if (vector && per_sm >= (small ? 8 : 32) && per_sm <= 64) return tiled(1024, per_sm, 0);
  // Few columns: the whole row is a tile, and no lane is idle.
  if (units <= 256) return tiled(1024, 256, 2);
  // Many of both.
  return tiled(256, vector ? 64 : 32, 0);
}
