#include <cuda_runtime.h>

// Say: without a tile, either the loads or the stores of a warp touch 32 rows. With one, both run along rows of global
// memory, and the columns are read from shared memory. Next: 16-byte stores (step 10), and a grid for more rows (step
// 08).
constexpr int kTile = 32, kRows = 8;  // a block of 32 x 8 threads moves a tile of 32 x 32

__global__ void transpose(const float* __restrict__ in, float* __restrict__ out, size_t rows, size_t cols) {
  __shared__ float tile[kTile][kTile + 1];  // + 1: the elements of a column lie in 32 banks
  const int tx = threadIdx.x, ty = threadIdx.y;
  // Say: the trip count is a constant, 4, so nvcc unrolls: four loads in flight before the barrier.
  const size_t col0 = size_t{blockIdx.x} * kTile, row0 = size_t{blockIdx.y} * kTile;
  for (int j = 0; j < kTile; j += kRows) {
    if (row0 + ty + j < rows && col0 + tx < cols) tile[ty + j][tx] = in[(row0 + ty + j) * cols + col0 + tx];
  }
  __syncthreads();
  // Say: these are the output's bounds; ty + j counts its rows.
  for (int j = 0; j < kTile; j += kRows) {
    if (col0 + ty + j < cols && row0 + tx < rows) out[(col0 + ty + j) * rows + row0 + tx] = tile[tx][ty + j];
  }
}

cudaError_t launch(const float* in, float* out, size_t rows, size_t cols) {
  if (rows == 0 || cols == 0) return cudaSuccess;  // a grid of 0 blocks is an error
  // Say: gridDim.y is at most 65535, so beyond 2,097,120 rows the launch returns an error.
  const dim3 block(kTile, kRows), grid((cols + kTile - 1) / kTile, (rows + kTile - 1) / kTile);
  transpose<<<grid, block>>>(in, out, rows, cols);
  return cudaGetLastError();
}

// The answer ends here; the rest is for the checks.
#include "transpose.cuh"
#include "whiteboard.cuh"
LADDER_STEP(Transpose, checked<launch>, kTile);
