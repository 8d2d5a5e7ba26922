// Problem:  step 05 still loads 9 words from shared memory for 8 products.
// Idea:     a square thread tile. Each of 256 threads computes 8 x 8 elements: 8 + 8 words per k for 64 products.
// Expect:   1.5 to 2x step 05: words per product fall from 1.125 to 0.25, so shared memory is no longer the limit.
// Measured: 1.08x step 05, 0.32x cuBLAS at 4096 (H200); 1.10x, 0.32x (H100).
// Why:      168 registers leave one block per SM, which waits for two round trips per tile, of A and of B (SASS).
// Next:     how could two loads, issued together, replace a thread's eight?
#include "sgemm.cuh"

constexpr int BM = 128, BN = 128, BK = 8;
constexpr int TM = 8, TN = 8;  // elements of C for each thread
constexpr int kThreads = (BM / TM) * (BN / TN);

__global__ void __launch_bounds__(kThreads)
    sgemm_thread_tile_2d(std::size_t M, std::size_t N, std::size_t K, float alpha, const float* __restrict__ A,
                         std::size_t lda, const float* __restrict__ B, std::size_t ldb, float beta,
                         float* __restrict__ C, std::size_t ldc, unsigned tiles_n) {
  __shared__ float As[BM][BK], Bs[BK][BN];
  const int tid = threadIdx.x;
  const std::size_t row0 = std::size_t{blockIdx.x / tiles_n} * BM, col0 = std::size_t{blockIdx.x % tiles_n} * BN;
  const int thread_col = tid % (BN / TN) * TN,
            thread_row = tid / (BN / TN) * TM;  // where this thread's elements of C begin
  float acc[TM][TN] = {};
  for (std::size_t k0 = 0; k0 < K; k0 += BK) {
    // load
#pragma unroll
    for (int e = tid; e < BM * BK; e += kThreads) {
      const std::size_t row = row0 + e / BK, k = k0 + e % BK;
      As[e / BK][e % BK] = row < M && k < K ? A[row * lda + k] : 0.0f;
    }
#pragma unroll
    for (int e = tid; e < BK * BN; e += kThreads) {
      const std::size_t k = k0 + e / BN, col = col0 + e % BN;
      Bs[e / BN][e % BN] = k < K && col < N ? B[k * ldb + col] : 0.0f;
    }
    __syncthreads();
    // compute
#pragma unroll
    for (int k = 0; k < BK; ++k) {
      float regM[TM], regN[TN];
#pragma unroll
      for (int i = 0; i < TM; ++i) regM[i] = As[thread_row + i][k];
#pragma unroll
      for (int j = 0; j < TN; ++j) regN[j] = Bs[k][thread_col + j];
#pragma unroll
      for (int i = 0; i < TM; ++i) {
#pragma unroll
        for (int j = 0; j < TN; ++j) acc[i][j] += regM[i] * regN[j];
      }
    }
    __syncthreads();
  }
  // store
#pragma unroll
  for (int i = 0; i < TM; ++i) {
#pragma unroll
    for (int j = 0; j < TN; ++j) {
      if (row0 + thread_row + i >= M || col0 + thread_col + j >= N) continue;
      float& c = C[(row0 + thread_row + i) * ldc + col0 + thread_col + j];
      c = beta == 0.0f ? alpha * acc[i][j] : alpha * acc[i][j] + beta * c;
    }
  }
}

static void launch(std::size_t M, std::size_t N, std::size_t K, float alpha, const float* A, std::size_t lda,
                   const float* B, std::size_t ldb, float beta, float* C, std::size_t ldc) {
  if (M == 0 || N == 0) return;
  if (alpha == 0) K = 0;  // A and B are not read
  const auto tiles_m = static_cast<unsigned>(ceil_div(M, BM)), tiles_n = static_cast<unsigned>(ceil_div(N, BN));
  sgemm_thread_tile_2d<<<tiles_m * tiles_n, kThreads>>>(M, N, K, alpha, A, lda, B, ldb, beta, C, ldc, tiles_n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Sgemm, launch);
