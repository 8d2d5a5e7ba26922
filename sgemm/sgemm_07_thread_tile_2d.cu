// Step 06 loads 9 numbers for 8 products. Idea: a square. Each thread computes 8 x 8 elements of C; for each l it loads
// 8 of A and 8 of B into registers and forms their 64 products. One block has a tile of 128 x 128, 256 threads; each
// loads 4 elements of A and 4 of B.
// Expect: a tenth faster, though a multiply-add needs a quarter of a load instead of 1.1. Other limits show: of 168
// registers per thread only one block fits on a multiprocessor, so nobody computes while it loads, 4 bytes at a time.
// Next question: what do the loads look like in SASS? (LDS.128, the compiler has seen to that; but LDG of 32 bits, four
// of A, stored, and then four of B.)
#include "sgemm.cuh"

constexpr int BM = 128, BN = 128, BK = 8;
constexpr int TM = 8, TN = 8;  // elements of C for each thread
constexpr int kThreads = (BM / TM) * (BN / TN);

__global__ void __launch_bounds__(kThreads)
    sgemm_thread_tile_2d(std::size_t m, std::size_t n, std::size_t k, float alpha, const float* __restrict__ A,
                         std::size_t lda, const float* __restrict__ B, std::size_t ldb, float beta,
                         float* __restrict__ C, std::size_t ldc, unsigned tiles_n) {
  __shared__ float a[BM][BK], b[BK][BN];
  const int tid = threadIdx.x;
  const std::size_t row0 = std::size_t{blockIdx.x / tiles_n} * BM, column0 = std::size_t{blockIdx.x % tiles_n} * BN;
  const int tx = tid % (BN / TN) * TN, ty = tid / (BN / TN) * TM;  // where this thread's elements of C begin
  float sum[TM][TN] = {};
  for (std::size_t l0 = 0; l0 < k; l0 += BK) {
#pragma unroll
    for (int e = tid; e < BM * BK; e += kThreads) {
      const std::size_t row = row0 + e / BK, l = l0 + e % BK;
      a[e / BK][e % BK] = row < m && l < k ? A[row * lda + l] : 0.0f;
    }
#pragma unroll
    for (int e = tid; e < BK * BN; e += kThreads) {
      const std::size_t l = l0 + e / BN, column = column0 + e % BN;
      b[e / BN][e % BN] = l < k && column < n ? B[l * ldb + column] : 0.0f;
    }
    __syncthreads();
#pragma unroll
    for (int l = 0; l < BK; ++l) {
      float al[TM], bl[TN];
#pragma unroll
      for (int i = 0; i < TM; ++i) al[i] = a[ty + i][l];
#pragma unroll
      for (int j = 0; j < TN; ++j) bl[j] = b[l][tx + j];
#pragma unroll
      for (int i = 0; i < TM; ++i) {
#pragma unroll
        for (int j = 0; j < TN; ++j) sum[i][j] += al[i] * bl[j];
      }
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < TM; ++i) {
#pragma unroll
    for (int j = 0; j < TN; ++j) {
      if (row0 + ty + i >= m || column0 + tx + j >= n) continue;
      float* c = &C[(row0 + ty + i) * ldc + column0 + tx + j];
      *c = beta == 0.0f ? alpha * sum[i][j] : alpha * sum[i][j] + beta * *c;
    }
  }
}

static void launch(std::size_t m, std::size_t n, std::size_t k, float alpha, const float* A, std::size_t lda,
                   const float* B, std::size_t ldb, float beta, float* C, std::size_t ldc) {
  if (m == 0 || n == 0) return;
  if (alpha == 0) k = 0;  // A and B are not read
  const auto tiles_m = static_cast<unsigned>(ceil_div(m, BM)), tiles_n = static_cast<unsigned>(ceil_div(n, BN));
  sgemm_thread_tile_2d<<<tiles_m * tiles_n, kThreads>>>(m, n, k, alpha, A, lda, B, ldb, beta, C, ldc, tiles_n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Sgemm, launch);
