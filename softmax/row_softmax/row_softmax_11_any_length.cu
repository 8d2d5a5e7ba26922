// Problem:  step 09 is made for aligned rows whose length is a power of two: rows of 2052 elements reach 0.67 of a
//           copy, of 4097 0.45, of 5 0.48 (one run on an H200). Step 10 reads every row twice.
// Idea:     a row of up to 32,771 elements in the registers of one block, peeled to whole float4, in shapes of two to
//           1024 threads (row_shapes.hpp, row_registers.cuh); very short rows by the hundred through shared memory.
// Expect:   0.9 to 1.0 of a copy up to 32,771 elements, whatever their number and alignment; beyond, step 10.
// Measured: 5.62x step 10, 1.67x cuDNN at 32768x1024 (H200); 4.18x, 1.28x (H100).
// Next:     and the rows that four or eight blocks could hold?
#include "row_softmax.cuh"
#include "row_registers.cuh"
#include "../row_relay.cuh"
#include "../two_passes.cuh"

static void launch(const float* x, float* y, std::size_t rows, std::size_t cols) {
  if (rows == 0 || cols == 0) return;
  if (row_shape(cols) < kRowShapeCount) return row_registers::launch(x, y, rows, cols);
  if (row_relay::fits(cols)) return row_relay::launch(x, y, rows, cols);
  for (std::size_t i = 0; i < rows; ++i) two_passes::launch(x + i * cols, y + i * cols, cols);
}

static std::size_t roundings(std::size_t cols) {
  if (row_shape(cols) < kRowShapeCount) return row_registers::roundings(cols);
  return row_relay::fits(cols) ? row_relay::roundings(cols) : two_passes::roundings(cols);
}

LADDER_STEP(RowSoftmax, launch, roundings);
