// The first answer: a thread for each row. Right, and simple; but the lanes of a warp read `cols` floats apart, 32
// sectors for each load. L1 keeps them for the next seven loads, if it has room for 32 of them per warp.
// Expect: a tenth of the memory's speed for short rows; with 64 rows there are 64 threads, and hardly anything happens.
// Next question: the last bits differ from those of a warp's sum. Which one is nearer to the truth? (The tree's: its
// error grows with the logarithm of cols, this one's with cols.)
#include "row_sum.cuh"

__global__ void row_sum_thread_per_row(const float* __restrict__ x, float* __restrict__ out, std::size_t rows,
                                       std::size_t cols) {
  const std::size_t row = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float sum = 0.0f;
  for (std::size_t c = 0; c < cols; ++c) sum += x[row * cols + c];
  out[row] = sum;
}

static void launch(const float* x, float* out, std::size_t rows, std::size_t cols) {
  if (rows == 0) return;  // a grid of 0 blocks is an error
  constexpr int block = 256;
  row_sum_thread_per_row<<<static_cast<unsigned>(ceil_div(rows, block)), block>>>(x, out, rows, cols);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(RowSum, launch, [](std::size_t, std::size_t cols) { return cols; });
