// Problem:  step 01 has only k threads.
// Idea:     a block takes 256 columns of a slice of the rows, and each thread adds its partial sum to y with atomicAdd.
//           A kernel before it scales y by beta, since nothing orders the blocks of one launch.
// Expect:   0.85 to 1.0x cuBLAS: slices x k atomics are few beside m x k loads. The last bits change from run to run.
// Measured: 11.4x step 01, 0.96x cuBLAS at 8192x8192 (H200); 8.50x, 1.00x (H100).
// Next:     how do you get the same bits every run?
#include "gemv_t.cuh"

constexpr int kBlock = 256;
constexpr std::size_t kMinRows = 64;  // fewest rows per slice

__global__ void gemv_t_scale(std::size_t k, float beta, float* __restrict__ y) {
  const std::size_t column = std::size_t{blockIdx.x} * kBlock + threadIdx.x;
  if (column < k) y[column] = beta == 0.0f ? 0.0f : beta * y[column];
}

// Needs slices * ceil(k / kBlock) blocks. Slice s has the rows from s * rows on.
__global__ void gemv_t_tile_atomics(std::size_t m, std::size_t k, float alpha, const float* __restrict__ A,
                                    std::size_t lda, const float* __restrict__ x, float* __restrict__ y,
                                    unsigned slices, std::size_t rows) {
  const std::size_t column = static_cast<std::size_t>(blockIdx.x / slices) * kBlock + threadIdx.x;
  const std::size_t begin = blockIdx.x % slices * rows, end = min(begin + rows, m);
  if (column >= k) return;
  float sum = 0.0f;
#pragma unroll 8
  for (std::size_t i = begin; i < end; ++i) sum += A[i * lda + column] * x[i];
  atomicAdd(y + column, alpha * sum);
}

static void launch(std::size_t m, std::size_t k, float alpha, const float* A, std::size_t lda, const float* x,
                   float beta, float* y) {
  if (k == 0) return;
  const std::size_t tiles = ceil_div(k, kBlock);
  gemv_t_scale<<<static_cast<unsigned>(tiles), kBlock>>>(k, beta, y);
  CUDA_CHECK(cudaGetLastError());
  if (m == 0 || alpha == 0) return;
  // enough blocks to fill the GPU twice, but no slice below kMinRows
  const std::size_t wanted = ceil_div(2 * resident_blocks(gemv_t_tile_atomics, kBlock), tiles);
  const auto slices = static_cast<unsigned>(std::clamp<std::size_t>(m / kMinRows, 1, wanted));
  const auto grid = static_cast<unsigned>(tiles * slices);
  gemv_t_tile_atomics<<<grid, kBlock>>>(m, k, alpha, A, lda, x, y, slices, ceil_div(m, slices));
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(GemvT, launch);
