// Problem:  each multiply-add of step 04 takes two words from shared memory, and shared memory is the limit.
// Idea:     register tiling. A thread computes 8 elements of a column of C: 9 words per k for 8 products, not 16.
// Expect:   1.7 to 1.9x step 04 at 4096: 16 / 9 = 1.78, as long as shared memory stays the limit.
// Measured: 1.90x step 04, 0.30x cuBLAS at 4096 (H200); 1.88x, 0.29x (H100).
// Next:     9 words for 8 products. What if the thread's elements form a square?
#include "sgemm.cuh"

constexpr int BM = 64, BN = 64, BK = 8;  // the block's tile of C, and the depth of the tiles of A and B
constexpr int TM = 8;                    // elements of C per thread, in a column
constexpr int kThreads = BM * BN / TM;
static_assert(kThreads == BM * BK && kThreads == BK * BN, "each thread loads one element of A and one of B");

__global__ void __launch_bounds__(kThreads)
    sgemm_thread_tile_1d(std::size_t M, std::size_t N, std::size_t K, float alpha, const float* __restrict__ A,
                         std::size_t lda, const float* __restrict__ B, std::size_t ldb, float beta,
                         float* __restrict__ C, std::size_t ldc, unsigned tiles_n) {
  __shared__ float As[BM][BK], Bs[BK][BN];
  const int tid = threadIdx.x;
  const std::size_t row0 = std::size_t{blockIdx.x / tiles_n} * BM, col0 = std::size_t{blockIdx.x % tiles_n} * BN;
  const int a_row = tid / BK, a_col = tid % BK;                 // the element of As that this thread loads,
  const int b_row = tid / BN, b_col = tid % BN;                 // and the one of Bs
  const int thread_col = tid % BN, thread_row = tid / BN * TM;  // where its elements of C begin
  float acc[TM] = {};
  for (std::size_t k0 = 0; k0 < K; k0 += BK) {
    // load
    const bool a_inside = row0 + a_row < M && k0 + a_col < K, b_inside = k0 + b_row < K && col0 + b_col < N;
    As[a_row][a_col] = a_inside ? A[(row0 + a_row) * lda + k0 + a_col] : 0.0f;
    Bs[b_row][b_col] = b_inside ? B[(k0 + b_row) * ldb + col0 + b_col] : 0.0f;
    __syncthreads();
    // compute
#pragma unroll
    for (int k = 0; k < BK; ++k) {
      const float regN = Bs[k][thread_col];
#pragma unroll
      for (int i = 0; i < TM; ++i) acc[i] += As[thread_row + i][k] * regN;
    }
    __syncthreads();
  }
  // store
#pragma unroll
  for (int i = 0; i < TM; ++i) {
    if (row0 + thread_row + i >= M || col0 + thread_col >= N) continue;
    float& c = C[(row0 + thread_row + i) * ldc + col0 + thread_col];
    c = beta == 0.0f ? alpha * acc[i] : alpha * acc[i] + beta * c;
  }
}

static void launch(std::size_t M, std::size_t N, std::size_t K, float alpha, const float* A, std::size_t lda,
                   const float* B, std::size_t ldb, float beta, float* C, std::size_t ldc) {
  if (M == 0 || N == 0) return;
  if (alpha == 0) K = 0;  // A and B are not read
  const auto tiles_m = static_cast<unsigned>(ceil_div(M, BM)), tiles_n = static_cast<unsigned>(ceil_div(N, BN));
  sgemm_thread_tile_1d<<<tiles_m * tiles_n, kThreads>>>(M, N, K, alpha, A, lda, B, ldb, beta, C, ldc, tiles_n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Sgemm, launch);
