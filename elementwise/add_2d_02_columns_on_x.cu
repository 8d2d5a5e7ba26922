// Step 01 walks down columns. Idea: x along the columns, y along the rows, as memory lies. A warp's request is 32
// neighbouring floats, four sectors.
// Expect: the speed of the scalar addition of vectors, and no more: a matrix without gaps between its rows is a vector.
// Next question: so what does the second dimension buy? (Nothing here; in a stencil or a transpose, the indices of the
// neighbours. It costs the limit of 65535 on grid.y, which is why there is a loop.)
#include "add_2d.cuh"

__global__ void add_2d_columns_on_x(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c,
                                    std::size_t rows, std::size_t cols) {
  const std::size_t col = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  // grid.y ends at 65535: a block whose first row is in range may have to take others further down.
  for (std::size_t row = static_cast<std::size_t>(blockIdx.y) * blockDim.y + threadIdx.y; row < rows;
       row += static_cast<std::size_t>(gridDim.y) * blockDim.y) {
    const std::size_t i = row * cols + col;
    if (col < cols) c[i] = a[i] + b[i];
  }
}

static void launch(const float* a, const float* b, float* c, std::size_t rows, std::size_t cols) {
  if (rows == 0 || cols == 0) return;  // a grid of 0 blocks is an error
  const dim3 block(32, 8);
  const dim3 grid(static_cast<unsigned>(ceil_div(cols, block.x)),
                  static_cast<unsigned>(std::min<std::size_t>(ceil_div(rows, block.y), 65535)));
  add_2d_columns_on_x<<<grid, block>>>(a, b, c, rows, cols);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Add2d, launch);
