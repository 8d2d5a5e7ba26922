// Which kernel quantize 05 takes for which rows. Apart from the step, so that a test can ask.
#pragma once
#include "shape_table.hpp"

#include <algorithm>

namespace quantize_shapes {

// `threads` threads of a block of `block` take a row: `kept` float4 each in registers, or, with 0 of them, four
// elements each of a tile of neighbouring rows in shared memory.
struct RowShape {
  std::size_t longest;
  unsigned threads, kept, block;
};

// Up to 32 elements a row is less than a line: a tile of many rows is one copy. From there on groups of lanes, then a
// block per row, with 8 float4 per thread: so an SM holds at least 64 KB of rows, twice what must be in flight. (Four
// float4 for each of 1024 threads, as in step 04, are 32 KB at 8224 columns, and had 0.53 of a copy on an H200.)
constexpr RowShape kRowShapes[] = {{4, 1, 0, 256},        {8, 2, 0, 256},      {16, 4, 0, 256},     {32, 8, 0, 256},
                                   {67, 8, 2, 256},       {131, 8, 4, 256},    {259, 16, 4, 256},   {515, 32, 4, 256},
                                   {1027, 32, 8, 256},    {2051, 64, 8, 64},   {4099, 128, 8, 128}, {8195, 256, 8, 256},
                                   {10243, 256, 10, 256}, {16387, 512, 8, 512}};
constexpr std::size_t kRowShapeCount = sizeof kRowShapes / sizeof kRowShapes[0];

// The index in the table, or kRowShapeCount: registers alone do not hold the row.
inline std::size_t row_shape(std::size_t cols) { return first_long_enough(kRowShapes, cols); }

// Longer rows: a thread keeps kKept float4 in registers and up to kMostChunks in shared memory, of which 1024 threads
// fill an SM of an H100 or H200.
constexpr unsigned kKept = 8, kMostChunks = 13;
constexpr std::size_t longest_of_block(unsigned block) { return std::size_t{4} * block * (kKept + kMostChunks) + 3; }

// One block of 512 or 1024 threads takes a row as long as it can hold it; else a team of blocks of 256.
inline unsigned block_for(std::size_t cols) {
  return cols <= longest_of_block(512) ? 512 : cols <= longest_of_block(1024) ? 1024 : 256;
}

// Blocks of a team: as many as hold the row, more where few rows would leave SMs idle, but each with 4096 elements, and
// no more than `resident`, what the GPU holds at once.
inline std::size_t team_for(std::size_t rows, std::size_t cols, std::size_t of_block, std::size_t resident) {
  const std::size_t needed = (cols - 1) / of_block + 1, wanted = std::min(resident / (2 * rows), cols / 4096);
  return std::min(std::max({needed, wanted, std::size_t{1}}), resident);
}

}  // namespace quantize_shapes
