// A matrix suggests a grid with two dimensions: one thread per element, blocks of 32 x 8. Whoever writes (i, j) for
// (row, col) and (x, y) for the thread ends up with this: threadIdx.x runs along the rows. The lanes of a warp differ
// in x, so they touch 32 floats that lie `cols` apart: 32 sectors per request, of which 4 bytes each are used at once.
// The result is right, which is why it is found late.
// Expect: a fraction of the memory's speed. What is left of the sectors helps the neighbours in y, if L1 still has it.
// Next question: which of a thread's indices varies fastest within a warp? (x: lane = threadIdx.x + 32 threadIdx.y
// here.)
#include "add_2d.cuh"

__global__ void add_2d_rows_on_x(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c,
                                 std::size_t rows, std::size_t cols) {
  const std::size_t row = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  // grid.y ends at 65535: a block whose first column is in range may have to take others further right.
  for (std::size_t col = static_cast<std::size_t>(blockIdx.y) * blockDim.y + threadIdx.y; col < cols;
       col += static_cast<std::size_t>(gridDim.y) * blockDim.y) {
    const std::size_t i = row * cols + col;
    if (row < rows) c[i] = a[i] + b[i];
  }
}

static void launch(const float* a, const float* b, float* c, std::size_t rows, std::size_t cols) {
  if (rows == 0 || cols == 0) return;  // a grid of 0 blocks is an error
  const dim3 block(32, 8);
  const dim3 grid(static_cast<unsigned>(ceil_div(rows, block.x)),
                  static_cast<unsigned>(std::min<std::size_t>(ceil_div(cols, block.y), 65535)));
  add_2d_rows_on_x<<<grid, block>>>(a, b, c, rows, cols);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Add2d, launch);
