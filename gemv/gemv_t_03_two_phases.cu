// Step 02's atomics come in any order. Idea: two phases. Each block stores its sums, a second kernel adds up those of a
// column, always in the same order, and applies alpha and beta on the way: the same bits every run, and no kernel that
// scales y before.
// Expect: a few per cent less speed: atomics without a result cost next to nothing, a second phase at the end does.
// Next question: threads still load 4 bytes at a time. With float4, 256 threads cover 1024 columns: where do the blocks
// come from when k = 4096?
#include "gemv_t.cuh"

constexpr int kBlock = 256;
constexpr std::size_t kMinRows = 64;  // rows that are worth a block

// A grid of pieces * ceil(k / kBlock) blocks; piece p has the rows from p * rows on. sums[p * k + column].
__global__ void gemv_t_two_phases(std::size_t m, std::size_t k, const float* __restrict__ A, std::size_t lda,
                                  const float* __restrict__ x, float* __restrict__ sums, unsigned pieces,
                                  std::size_t rows) {
  const std::size_t column = static_cast<std::size_t>(blockIdx.x / pieces) * kBlock + threadIdx.x;
  const std::size_t piece = blockIdx.x % pieces, begin = piece * rows, end = min(begin + rows, m);
  if (column >= k) return;
  float sum = 0.0f;
#pragma unroll 8
  for (std::size_t i = begin; i < end; ++i) sum += A[i * lda + column] * x[i];
  sums[piece * k + column] = sum;
}

__global__ void gemv_t_add_pieces(std::size_t k, unsigned pieces, const float* __restrict__ sums, float alpha,
                                  float beta, float* __restrict__ y) {
  const std::size_t column = std::size_t{blockIdx.x} * kBlock + threadIdx.x;
  if (column >= k) return;
  float sum = 0.0f;
#pragma unroll 8
  for (unsigned p = 0; p < pieces; ++p) sum += sums[p * k + column];
  y[column] = beta == 0.0f ? alpha * sum : alpha * sum + beta * y[column];
}

static void launch(std::size_t m, std::size_t k, float alpha, const float* A, std::size_t lda, const float* x,
                   float beta, float* y) {
  if (k == 0) return;
  if (alpha == 0) m = 0;  // A and x are not read
  const std::size_t tiles = ceil_div(k, kBlock);
  // Enough blocks to fill the GPU twice, but no piece too small.
  const std::size_t wanted = ceil_div(2 * resident_blocks(gemv_t_two_phases, kBlock), tiles);
  const auto pieces = static_cast<unsigned>(std::clamp<std::size_t>(m / kMinRows, 1, wanted));
  const auto grid = static_cast<unsigned>(tiles * pieces);
  float* sums = scratch<float>(pieces * k);
  gemv_t_two_phases<<<grid, kBlock>>>(m, k, A, lda, x, sums, pieces, ceil_div(m, pieces));
  CUDA_CHECK(cudaGetLastError());
  gemv_t_add_pieces<<<static_cast<unsigned>(tiles), kBlock>>>(k, pieces, sums, alpha, beta, y);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(GemvT, launch);
