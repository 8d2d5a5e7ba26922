// Which kernel gemv_07_by_shape takes for which matrix. Apart from the step, so that a test can ask.
#pragma once
#include "shape_table.hpp"

struct GemvShape {
  std::size_t longest;            // row for which it is meant, or 0: the rules below name it
  unsigned threads, rows, loads;  // `threads` threads take `rows` rows at a time, `loads` quads of each in flight
};

// Up to 1023 elements the row's length decides: a pass of 4 * threads * loads elements is about one row, and 4 to 32
// loads are in flight per thread. The kernels for longer rows stand behind, in the order of the names below.
constexpr GemvShape kGemvShapes[] = {{4, 1, 4, 1},   {8, 1, 2, 2},    {12, 1, 1, 3},   {16, 4, 4, 1},    {31, 4, 2, 2},
                                     {48, 8, 4, 1},  {200, 8, 2, 2},  {512, 16, 2, 2}, {1023, 32, 2, 2}, {0, 256, 4, 1},
                                     {0, 256, 1, 4}, {0, 1024, 1, 2}, {0, 1024, 4, 1}};
enum GemvKernel : std::size_t { kFourRows = 9, kBlockPerRow, kLongRow, kLongFourRows };

// aligned: all rows, and x, are 16-byte aligned.
inline std::size_t gemv_kernel(std::size_t m, std::size_t k, bool aligned, std::size_t sms) {
  if (const std::size_t i = first_long_enough(kGemvShapes, k); i < kFourRows) return i;
  // Four rows share what is loaded of x, and a block has four times the work for its start and its end; but 4 blocks
  // of them are resident per SM, and with less than 8 waves too many SMs idle in the last one.
  if (k <= 8191 && m >= 8 * 4 * 4 * sms) return kFourRows;
  // 1024 threads, if they are busy: a pass takes 8192 elements of a row.
  constexpr std::size_t pass = 8192;
  const std::size_t passes = (k + pass - 1) / pass;
  if (aligned) return 10 * k >= 9 * passes * pass ? kLongRow : kBlockPerRow;
  // Scalar loads of so long an x come from L2: four rows share them.
  if (k < 4 * pass) return kBlockPerRow;
  return m < 4 ? kLongRow : kLongFourRows;
}
