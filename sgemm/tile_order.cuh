// In which order blocks take the tiles of C.
#pragma once

// Which tile of C a block computes. In row-major order, the blocks of a wave would need all of B and little of A. They
// need less in all, and find more of it in L2, if they form a rectangle: 8 rows of tiles, column by column.
struct Tile {
  unsigned row, col;
};
__device__ inline Tile tile_of_block(unsigned block, unsigned tiles_m, unsigned tiles_n) {
  const unsigned rows = 8, first = block / (rows * tiles_n) * rows, left = min(rows, tiles_m - first);
  const unsigned in_group = block - first * tiles_n;
  return {first + in_group % left, in_group / left};
}
