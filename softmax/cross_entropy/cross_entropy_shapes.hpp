// Which kernel cross_entropy 04 takes for which rows. Apart from the step, so that a test can ask.
#pragma once
#include "shape_table.hpp"
#include "slices.cuh"

// Short rows come through shared memory in tiles; `lanes` lanes take a row of up to `longest` elements. As few lanes as
// 32 elements in registers allow: each lane pays for the row's merge, logarithm and target.
struct ShortRows {
  unsigned longest, lanes;
};
constexpr ShortRows kShortRows[] = {{16, 1}, {32, 1}, {64, 2}, {128, 4}};
constexpr std::size_t kShortRowsCount = sizeof kShortRows / sizeof kShortRows[0];

// The index in the table, or kShortRowsCount: long rows.
inline std::size_t short_rows(std::size_t cols) { return first_long_enough(kShortRows, cols); }

// Rows of a tile: as many for each group of lanes, 4 at most.
constexpr unsigned kTileBlock = 128, kMostTimes = 4;
inline unsigned rows_of_tile(const ShortRows& s, std::size_t cols) {
  const std::size_t times = cols > 0 ? std::min<std::size_t>(s.longest / cols, kMostTimes) : 1;
  return static_cast<unsigned>(times) * kTileBlock / s.lanes;
}

// Long rows are read by 8 << i threads, four float4 per trip: up to 16384 elements take four trips or fewer.
constexpr unsigned kLongKernels = 7;
inline unsigned long_kernel(std::size_t cols) {
  unsigned i = 0;
  while (i + 1 < kLongKernels && cols > std::size_t{512} << i) ++i;
  return i;
}

// The last kernel takes parts of a row, a block each: as many as fill whole waves of `resident` blocks, none shorter
// than two trips, none longer than 32 bits count.
constexpr std::size_t kShortestPart = 16384, kLongestPart = std::size_t{1} << 30;
inline unsigned length_of_part(std::size_t rows, std::size_t cols, std::size_t resident) {
  const std::size_t parts = std::max(slices_for(rows, resident, cols / kShortestPart), ceil_div(cols, kLongestPart));
  return static_cast<unsigned>(ceil_div(ceil_div(cols, parts), std::size_t{32}) * 32);
}
