// The naive answer: a thread takes a row and walks over it three times, for the maximum, the sum of the exponentials,
// and the results.
// Expect: a few per cent of the memory's speed. The lanes of a warp read 32 different rows, so every load touches 32
// sectors of 32 bytes for 128 bytes of use, and with few rows most of the GPU stands idle.
// Next question: who should read neighbouring elements, and why subtract the maximum? (exp(89) is already infinite.)
#include "row_softmax.cuh"

__global__ void row_softmax_thread_per_row(const float* __restrict__ x, float* __restrict__ y, std::size_t rows,
                                           std::size_t cols) {
  const std::size_t row = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  x += row * cols;
  y += row * cols;

  float max = -INFINITY;
  for (std::size_t j = 0; j < cols; ++j) max = fmaxf(max, x[j]);
  float sum = 0.0f;
  for (std::size_t j = 0; j < cols; ++j) sum += expf(x[j] - max);
  for (std::size_t j = 0; j < cols; ++j) y[j] = expf(x[j] - max) / sum;
}

static void launch(const float* x, float* y, std::size_t rows, std::size_t cols) {
  if (rows == 0 || cols == 0) return;
  constexpr int block = 128;
  row_softmax_thread_per_row<<<static_cast<unsigned>(ceil_div(rows, block)), block>>>(x, y, rows, cols);
  CUDA_CHECK(cudaGetLastError());
}

// exp and division above, exp below, and the additions.
static std::size_t roundings(std::size_t cols) { return 5 + 4 + cols; }

LADDER_STEP(RowSoftmax, launch, roundings);
