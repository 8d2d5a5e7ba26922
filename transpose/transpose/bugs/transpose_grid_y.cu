// bug: one block in gridDim.y per 32 rows; gridDim.y is at most 65535, so with more rows the launch fails
// caught by: cpu forward | invalid configuration argument | --rows=2097121 --cols=1
// caught by: gpu | cudaGetLastError(): invalid | --rows=2097121 --cols=1
// stage: launches and ends
#include "../transpose.cuh"

constexpr int kTile = 32;

__global__ void transpose_2d_grid(const float* __restrict__ in, float* __restrict__ out, std::size_t rows,
                                  std::size_t cols) {
  __shared__ float tile[kTile][kTile + 1];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const std::size_t col0 = std::size_t{blockIdx.x} * kTile;
  const std::size_t row0 = std::size_t{blockIdx.y} * kTile;
  if (row0 + ty < rows && col0 + tx < cols) tile[ty][tx] = in[(row0 + ty) * cols + col0 + tx];
  __syncthreads();
  if (col0 + ty < cols && row0 + tx < rows) out[(col0 + ty) * rows + row0 + tx] = tile[tx][ty];
}

static void launch(const float* in, float* out, std::size_t rows, std::size_t cols) {
  if (rows == 0 || cols == 0) return;
  // should refuse more than 65535 * 32 rows, or number the tiles in gridDim.x, up to 2^31 - 1
  const dim3 grid(ceil_div(cols, kTile), ceil_div(rows, kTile));
  transpose_2d_grid<<<grid, dim3(kTile, kTile)>>>(in, out, rows, cols);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Transpose, launch);
