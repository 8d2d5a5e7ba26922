// Problem:  the lanes of a warp in step 01 run down a column: 32 sectors per request.
// Idea:     x along the columns, y along the rows, as the matrix lies in memory: 4 sectors per request.
// Expect:   0.81 of a copy (H200), 0.92 (H100), like add_01: a matrix without gaps between its rows is a vector.
// Measured: 4.08x step 01, 0.76 of a copy at 8192x8192 (H200); 4.06x, 0.88 (H100).
// Why:      a block reads eight pieces of 128 bytes a row apart, not 1 KB in one piece (hypothesis, not tested).
// Next:     how many rows can this grid have?
#include "add_2d.cuh"

__global__ void add_2d_columns_on_x(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c,
                                    std::size_t rows, std::size_t cols) {
  const std::size_t col = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const std::size_t row = std::size_t{blockIdx.y} * blockDim.y + threadIdx.y;
  if (row < rows && col < cols) c[row * cols + col] = a[row * cols + col] + b[row * cols + col];
}

static void launch(const float* a, const float* b, float* c, std::size_t rows, std::size_t cols) {
  if (rows == 0 || cols == 0) return;  // a grid of 0 blocks is an error
  const dim3 block(32, 8);
  const dim3 grid(ceil_div(cols, block.x), ceil_div(rows, block.y));
  add_2d_columns_on_x<<<grid, block>>>(a, b, c, rows, cols);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Add2d, launch, "rows", 8);
