// In step 01 the lanes of a warp read 32 rows. Idea: swap the two indices. Now threadIdx.x is the column: a warp reads
// 128 consecutive bytes of B, writes 128 consecutive bytes of C, and all its lanes want the same element of A, which is
// one sector and a broadcast.
// Expect: around ten times step 01.
// Next question: it still loads two numbers for one multiply-add. Who else in the block needs the same ones? (Everybody
// in the row, everybody in the column.)
#include "sgemm.cuh"

constexpr unsigned kBlock = 32;

__global__ void sgemm_coalesced(std::size_t m, std::size_t n, std::size_t k, float alpha, const float* __restrict__ A,
                                std::size_t lda, const float* __restrict__ B, std::size_t ldb, float beta,
                                float* __restrict__ C, std::size_t ldc, unsigned tiles_n) {
  const std::size_t row = std::size_t{blockIdx.x / tiles_n} * kBlock + threadIdx.y;
  const std::size_t column = std::size_t{blockIdx.x % tiles_n} * kBlock + threadIdx.x;
  if (row >= m || column >= n) return;
  float sum = 0.0f;
  for (std::size_t l = 0; l < k; ++l) sum += A[row * lda + l] * B[l * ldb + column];
  float* c = &C[row * ldc + column];
  *c = beta == 0.0f ? alpha * sum : alpha * sum + beta * *c;
}

static void launch(std::size_t m, std::size_t n, std::size_t k, float alpha, const float* A, std::size_t lda,
                   const float* B, std::size_t ldb, float beta, float* C, std::size_t ldc) {
  if (m == 0 || n == 0) return;
  if (alpha == 0) k = 0;  // A and B are not read
  const auto tiles_m = static_cast<unsigned>(ceil_div(m, kBlock)), tiles_n = static_cast<unsigned>(ceil_div(n, kBlock));
  const dim3 block(kBlock, kBlock);
  sgemm_coalesced<<<tiles_m * tiles_n, block>>>(m, n, k, alpha, A, lda, B, ldb, beta, C, ldc, tiles_n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Sgemm, launch);
