// Chooses the kernel of cross_entropy 04 by the length of the rows. A separate header, so that a test can include it.
#pragma once
#include "shape_table.hpp"
#include "slices.cuh"

// Tiles of short rows pass through shared memory; `lanes` lanes take a row of up to `longest` elements. As few lanes as
// 32 elements in registers allow, because each lane pays for the row's merge, logarithm and target.
struct ShortRows {
  unsigned longest, lanes;
};
constexpr ShortRows kShortRows[] = {{16, 1}, {32, 1}, {64, 2}, {128, 4}};
constexpr std::size_t kShortRowsCount = sizeof kShortRows / sizeof kShortRows[0];

// Returns the index in the table, or kShortRowsCount for long rows.
inline std::size_t short_rows(std::size_t cols) { return first_long_enough(kShortRows, cols); }

// Returns the rows of a tile: the same number for each group of lanes, kMostTimes at most.
constexpr unsigned kTileBlock = 128, kMostTimes = 4;
inline unsigned rows_of_tile(const ShortRows& s, std::size_t cols) {
  const std::size_t times = cols > 0 ? std::min<std::size_t>(s.longest / cols, kMostTimes) : 1;
  return static_cast<unsigned>(times) * kTileBlock / s.lanes;
}

// Returns i: 8 << i threads read a long row, four float4 per trip. Up to 16384 elements take at most four trips.
constexpr unsigned kLongKernels = 7;
inline unsigned long_kernel(std::size_t cols) {
  unsigned i = 0;
  while (i + 1 < kLongKernels && cols > std::size_t{512} << i) ++i;
  return i;
}

// The last kernel cuts a row into parts, one block each. Returns their length: enough parts to fill whole waves of
// `resident` blocks, none shorter than two trips or longer than 2^30 elements.
constexpr std::size_t kShortestPart = 16384, kLongestPart = std::size_t{1} << 30;
inline unsigned length_of_part(std::size_t rows, std::size_t cols, std::size_t resident) {
  const std::size_t parts = std::max(slices_for(rows, resident, cols / kShortestPart), ceil_div(cols, kLongestPart));
  return static_cast<unsigned>(ceil_div(ceil_div(cols, parts), std::size_t{32}) * 32);
}
