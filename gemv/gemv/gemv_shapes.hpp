// The kernel that gemv_07_by_shape runs for a matrix, chosen by its shape. test_gemv.cpp uses it, too.
#pragma once
#include "shape_table.hpp"

struct GemvShape {
  std::size_t longest;            // longest row for this kernel; 0: gemv_kernel() has rules for it
  unsigned threads, rows, loads;  // `threads` threads process `rows` rows at a time, `loads` quads of each in flight
};

// Rows of up to 1023 elements: the length decides. A pass of 4 * threads * loads elements covers a row of up to 32 and
// at least a quarter of a longer one, with 3 or 4 quads of A in flight per thread. The kernels for longer rows follow,
// in the order of the names below.
constexpr GemvShape kGemvShapes[] = {{4, 1, 4, 1},  {8, 1, 2, 2},   {12, 1, 1, 3},   {16, 4, 4, 1},    {31, 4, 2, 2},
                                     {48, 8, 4, 1}, {200, 8, 2, 2}, {512, 16, 2, 2}, {1023, 32, 2, 2}, {0, 256, 4, 1},
                                     {0, 32, 1, 4}, {0, 256, 1, 4}, {0, 1024, 1, 2}};
enum GemvKernel : std::size_t { kFourRows = 9, kWarpPerRow, kBlockPerRow, kLongRow };

// Returns an index into kGemvShapes. aligned: x and all rows of A are 16-byte aligned.
inline std::size_t gemv_kernel(std::size_t m, std::size_t k, bool aligned, std::size_t sms) {
  if (const std::size_t i = first_long_enough(kGemvShapes, k); i < kFourRows) return i;
  // Returns true if a row fills at least 9 tenths of its passes of `pass` elements.
  const auto busy = [k](std::size_t pass) { return 10 * k >= 9 * ((k + pass - 1) / pass) * pass; };
  // Four rows per block share the loads of x, and a block's fixed cost is spread over four times the work. But with 4
  // blocks per SM and fewer than 8 waves, too many SMs idle in the last wave. A warp's pass is half as long.
  if (k <= 8191 && m >= 8 * 4 * 4 * sms) return busy(1024) ? kFourRows : kWarpPerRow;
  return aligned && busy(8192) ? kLongRow : kBlockPerRow;
}

// Returns the longest slice of a row for one block. Unaligned: x's slice must fit in L1, for all rows of an SM.
inline std::size_t gemv_longest_slice(std::size_t k, bool aligned) { return !aligned && k >= 3 * 8192 ? 8192 : 131072; }
