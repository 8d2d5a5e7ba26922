// Problem:  step 01 has one thread per column, far too few to fill the GPU.
// Idea:     a block of 32 x 16 threads takes 32 columns. Each of its 16 warps adds every 16th row. The first warp adds
//           the warps' sums from shared memory.
// Expect:   5 to 8x step 01 at 16384x4096: 128 blocks of 16 warps, one block per SM, a quarter of the warps that fit.
// Measured: 7.30x step 01, 0.54x cuBLAS at 16384x4096 (H200).
// Next:     128 columns make only four blocks. How can more blocks work?
#include "col_sum.cuh"

constexpr int kColumns = 32, kRows = 16;

__global__ void col_sum_tile(const float* __restrict__ x, float* __restrict__ out, std::size_t rows, std::size_t cols) {
  __shared__ float sums[kRows][kColumns];
  const std::size_t column = std::size_t{blockIdx.x} * kColumns + threadIdx.x;
  const auto end = static_cast<std::int64_t>(rows);  // signed: the compiler counts the trips and batches 4 loads
  float sum = 0.0f;
  if (column < cols) {
#pragma unroll 4
    for (std::int64_t r = threadIdx.y; r < end; r += kRows) sum += x[r * cols + column];
  }
  sums[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();  // threads without a column must reach it too
  if (threadIdx.y > 0 || column >= cols) return;
  for (int y = 1; y < kRows; ++y) sum += sums[y][threadIdx.x];
  out[column] = sum;
}

static void launch(const float* x, float* out, std::size_t rows, std::size_t cols) {
  if (cols == 0) return;
  const dim3 block(kColumns, kRows);
  col_sum_tile<<<static_cast<unsigned>(ceil_div(cols, kColumns)), block>>>(x, out, rows, cols);
  CUDA_CHECK(cudaGetLastError());
}

// The chain of a warp, then the other warps' sums.
LADDER_STEP(ColSum, launch,
            [](std::size_t rows, std::size_t) { return ceil_div(rows, std::size_t{kRows}) + kRows - 1; });
