// Which kernel gemv_07_by_shape takes for which matrix; test_gemv.cpp asks, too.
#pragma once
#include "shape_table.hpp"

struct GemvShape {
  std::size_t longest;            // row length for which it is meant; 0: the rules below name it
  unsigned threads, rows, loads;  // `threads` threads take `rows` rows at a time, `loads` quads of each in flight
};

// Up to 1023 elements the row's length decides: a pass of 4 * threads * loads elements is about one row, with 4 to 32
// loads in flight per thread. The kernels for longer rows follow, in the order of the names below.
constexpr GemvShape kGemvShapes[] = {{4, 1, 4, 1},  {8, 1, 2, 2},   {12, 1, 1, 3},   {16, 4, 4, 1},    {31, 4, 2, 2},
                                     {48, 8, 4, 1}, {200, 8, 2, 2}, {512, 16, 2, 2}, {1023, 32, 2, 2}, {0, 256, 4, 1},
                                     {0, 32, 1, 4}, {0, 256, 1, 4}, {0, 1024, 1, 2}};
enum GemvKernel : std::size_t { kFourRows = 9, kWarpPerRow, kBlockPerRow, kLongRow };

// aligned: all rows, and x, are 16-byte aligned.
inline std::size_t gemv_kernel(std::size_t m, std::size_t k, bool aligned, std::size_t sms) {
  if (const std::size_t i = first_long_enough(kGemvShapes, k); i < kFourRows) return i;
  // Are 9 tenths of all passes over a row busy, each of `pass` elements?
  const auto busy = [k](std::size_t pass) { return 10 * k >= 9 * ((k + pass - 1) / pass) * pass; };
  // Four rows share what is loaded of x, and a block's start and end pay for four times the work. But with 4 blocks per SM
  // and fewer than 8 waves too many SMs idle in the last one. A warp's pass is half as long.
  if (k <= 8191 && m >= 8 * 4 * 4 * sms) return busy(1024) ? kFourRows : kWarpPerRow;
  return aligned && busy(8192) ? kLongRow : kBlockPerRow;
}

// The longest slice of a row for a block. With unaligned rows L1 must hold a slice of x for all rows of an SM.
inline std::size_t gemv_longest_slice(std::size_t k, bool aligned) { return !aligned && k >= 3 * 8192 ? 8192 : 131072; }
