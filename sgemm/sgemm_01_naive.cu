// The first answer: one thread for each element of C, which walks along a row of A and down a column of B. Two loads
// for one multiply-add. And here threadIdx.x is the row, as the index comes first in the formula: in each step the 32
// lanes of a warp read 32 rows of A, lda floats apart, and write C the same way, 32 sectors each time.
// Expect: about one per cent of the library's speed.
// Next question: which of the two indices should follow threadIdx.x? (The one along the rows of B and C.)
#include "sgemm.cuh"

constexpr unsigned kBlock = 32;

// A grid of tiles of kBlock x kBlock elements, numbered row by row, `tiles_n` in each row.
__global__ void sgemm_naive(std::size_t m, std::size_t n, std::size_t k, float alpha, const float* __restrict__ A,
                            std::size_t lda, const float* __restrict__ B, std::size_t ldb, float beta,
                            float* __restrict__ C, std::size_t ldc, unsigned tiles_n) {
  const std::size_t row = std::size_t{blockIdx.x / tiles_n} * kBlock + threadIdx.x;
  const std::size_t column = std::size_t{blockIdx.x % tiles_n} * kBlock + threadIdx.y;
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
  sgemm_naive<<<tiles_m * tiles_n, block>>>(m, n, k, alpha, A, lda, B, ldb, beta, C, ldc, tiles_n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Sgemm, launch);
