// bug: the barrier is inside the bounds test, so in a tile at the border some threads never reach it
// caught by: cpu forward | some threads returned while others wait at a barrier
// caught by: gpu | is wrong
// stage: races and barriers
#include "../transpose.cuh"

constexpr int kTile = 32;

__global__ void transpose_conditional_barrier(const float* __restrict__ in, float* __restrict__ out, std::size_t rows,
                                              std::size_t cols) {
  __shared__ float tile[kTile][kTile + 1];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const std::size_t col0 = std::size_t{blockIdx.x} * kTile;
  const std::size_t row0 = std::size_t{blockIdx.y} * kTile;
  if (row0 + ty < rows && col0 + tx < cols) {
    tile[ty][tx] = in[(row0 + ty) * cols + col0 + tx];
    __syncthreads();  // belongs after the brace
  }
  if (col0 + ty < cols && row0 + tx < rows) out[(col0 + ty) * rows + row0 + tx] = tile[tx][ty];
}

static void launch(const float* in, float* out, std::size_t rows, std::size_t cols) {
  if (rows == 0 || cols == 0) return;
  const dim3 block(kTile, kTile), grid(ceil_div(cols, kTile), ceil_div(rows, kTile));
  transpose_conditional_barrier<<<grid, block>>>(in, out, rows, cols);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Transpose, launch, kTile);
