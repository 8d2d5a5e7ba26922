// bug: one block in y for every 8 rows; gridDim.y ends at 65535, so the launch fails for 65536 * 8 rows
// caught by: cpu forward | invalid configuration argument
// caught by: gpu | cudaGetLastError(): invalid
// stage: launches and ends
#include "../add_2d.cuh"

__global__ void add_2d_high_grid(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c,
                                 std::size_t rows, std::size_t cols) {
  const std::size_t col = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const std::size_t row = std::size_t{blockIdx.y} * blockDim.y + threadIdx.y;
  if (row < rows && col < cols) c[row * cols + col] = a[row * cols + col] + b[row * cols + col];
}

static void launch(const float* a, const float* b, float* c, std::size_t rows, std::size_t cols) {
  if (rows == 0 || cols == 0) return;
  const dim3 block(32, 8);
  const dim3 grid(static_cast<unsigned>(ceil_div(cols, block.x)), static_cast<unsigned>(ceil_div(rows, block.y)));
  add_2d_high_grid<<<grid, block>>>(a, b, c, rows, cols);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Add2d, launch);
