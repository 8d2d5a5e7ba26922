// Step 01 has k threads. Idea: tiles. A block takes 256 columns of a piece of the rows only, and its threads add what
// they have to y with atomicAdd. So y must be scaled by beta before (set to 0 if beta = 0), by a kernel of its own:
// nothing orders the blocks of one launch. The order of the additions changes from run to run, and with it the last
// bits.
// Expect: near the memory's speed; pieces x k atomics are few beside m x k loads.
// Next question: how do you get the same bits every run?
#include "gemv_t.cuh"

constexpr int kBlock = 256;
constexpr std::size_t kMinRows = 64;  // rows that are worth a block

__global__ void gemv_t_scale(std::size_t k, float beta, float* __restrict__ y) {
  const std::size_t column = std::size_t{blockIdx.x} * kBlock + threadIdx.x;
  if (column < k) y[column] = beta == 0.0f ? 0.0f : beta * y[column];
}

// A grid of pieces * ceil(k / kBlock) blocks; piece p has the rows from p * rows on.
__global__ void gemv_t_tile_atomics(std::size_t m, std::size_t k, float alpha, const float* __restrict__ A,
                                    std::size_t lda, const float* __restrict__ x, float* __restrict__ y,
                                    unsigned pieces, std::size_t rows) {
  const std::size_t column = static_cast<std::size_t>(blockIdx.x / pieces) * kBlock + threadIdx.x;
  const std::size_t begin = blockIdx.x % pieces * rows, end = min(begin + rows, m);
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
  // Enough blocks to fill the GPU twice, but no piece too small.
  const std::size_t wanted = ceil_div(2 * resident_blocks(gemv_t_tile_atomics, kBlock), tiles);
  const auto pieces = static_cast<unsigned>(std::clamp<std::size_t>(m / kMinRows, 1, wanted));
  const auto grid = static_cast<unsigned>(tiles * pieces);
  gemv_t_tile_atomics<<<grid, kBlock>>>(m, k, alpha, A, lda, x, y, pieces, ceil_div(m, pieces));
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(GemvT, launch);
