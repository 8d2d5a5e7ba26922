// Problem:  one load per thread, and all 32 warps of a block wait at one barrier. An SM holds two such blocks.
// Idea:     32 x 8 threads with 4 rows each: four loads in flight per thread. An SM holds eight such blocks, and some
//           load while others store.
// Expect:   1.5 to 2.5x step 06, up to a copy's speed: 32 KB in flight per SM instead of 8.
// Measured: 1.83x step 06, 0.84x cuBLAS at 8192x8192 (H200); 1.66x, 0.94x (H100).
// Why:      117 million instructions, 6 % more than in step 05, take 70 % of the issue slots (ncu). The loops start at
//           ty, so nvcc doesn't see the four trips: it unrolls by 4, but keeps a loop and a remainder (SASS).
// Next:     how many rows can this grid have, and what if a matrix has more?
#include "transpose.cuh"

constexpr int kTile = 32;
constexpr int kRows = 8;  // rows of threads; each thread has kTile / kRows elements

__global__ void transpose_four_rows(const float* __restrict__ in, float* __restrict__ out, std::size_t rows,
                                    std::size_t cols) {
  __shared__ float tile[kTile][kTile + 1];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const std::size_t col0 = std::size_t{blockIdx.x} * kTile;
  const std::size_t row0 = std::size_t{blockIdx.y} * kTile;
  // load: along the rows of the input
#pragma unroll
  for (int y = ty; y < kTile; y += kRows) {
    if (row0 + y < rows && col0 + tx < cols) tile[y][tx] = in[(row0 + y) * cols + col0 + tx];
  }
  __syncthreads();
  // store: along the rows of the output
#pragma unroll
  for (int y = ty; y < kTile; y += kRows) {
    if (col0 + y < cols && row0 + tx < rows) out[(col0 + y) * rows + row0 + tx] = tile[tx][y];
  }
}

static void launch(const float* in, float* out, std::size_t rows, std::size_t cols) {
  if (rows == 0 || cols == 0) return;
  const dim3 block(kTile, kRows), grid(ceil_div(cols, kTile), ceil_div(rows, kTile));
  transpose_four_rows<<<grid, block>>>(in, out, rows, cols);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Transpose, launch, kTile);
