// bug: the second phase tests the first phase's bounds, but there ty counts columns of the input and tx counts rows
// caught by: cpu forward | is wrong
// caught by: gpu | is wrong
// stage: right
#include "../transpose.cuh"

constexpr int kTile = 32;

__global__ void transpose_same_bounds(const float* __restrict__ in, float* __restrict__ out, std::size_t rows,
                                      std::size_t cols) {
  __shared__ float tile[kTile][kTile + 1];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const std::size_t col0 = std::size_t{blockIdx.x} * kTile;
  const std::size_t row0 = std::size_t{blockIdx.y} * kTile;
  if (row0 + ty < rows && col0 + tx < cols) tile[ty][tx] = in[(row0 + ty) * cols + col0 + tx];
  __syncthreads();
  if (row0 + ty < rows && col0 + tx < cols) out[(col0 + ty) * rows + row0 + tx] = tile[tx][ty];
}

static void launch(const float* in, float* out, std::size_t rows, std::size_t cols) {
  if (rows == 0 || cols == 0) return;
  const dim3 block(kTile, kTile), grid(ceil_div(cols, kTile), ceil_div(rows, kTile));
  transpose_same_bounds<<<grid, block>>>(in, out, rows, cols);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Transpose, launch, kTile);
