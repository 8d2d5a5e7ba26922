// In step 04 (05 was a digression) each multiply-add takes two loads from shared memory. Idea: a thread computes 8
// elements of a column of C, in registers. For each l it loads one element of B and uses it 8 times; with the 8 of A
// that is 9 loads for 8 multiply-adds, not 16. The tile of C is 64 x 64 now, the tiles of A and B are 8 deep, so that
// each of 512 threads loads one element of each.
// Expect: nearly twice step 04.
// Next question: 9 loads for 8 products. And if the thread's elements form a square? (16 loads for 64.)
#include "sgemm.cuh"

constexpr int BM = 64, BN = 64, BK = 8;  // the block's tile of C, and the depth of the tiles of A and B
constexpr int TM = 8;                    // elements of C for each thread, one below the other
constexpr int kThreads = BM * BN / TM;
static_assert(kThreads == BM * BK && kThreads == BK * BN, "each thread loads one element of A and one of B");

__global__ void __launch_bounds__(kThreads)
    sgemm_thread_tile_1d(std::size_t m, std::size_t n, std::size_t k, float alpha, const float* __restrict__ A,
                         std::size_t lda, const float* __restrict__ B, std::size_t ldb, float beta,
                         float* __restrict__ C, std::size_t ldc, unsigned tiles_n) {
  __shared__ float a[BM][BK], b[BK][BN];
  const int tid = threadIdx.x;
  const std::size_t row0 = std::size_t{blockIdx.x / tiles_n} * BM, column0 = std::size_t{blockIdx.x % tiles_n} * BN;
  const int a_row = tid / BK, a_column = tid % BK;  // what this thread loads of the tile of A,
  const int b_row = tid / BN, b_column = tid % BN;  // and of B
  const int tx = tid % BN, ty = tid / BN * TM;      // where its elements of C begin
  float sum[TM] = {};
  for (std::size_t l0 = 0; l0 < k; l0 += BK) {
    const bool a_inside = row0 + a_row < m && l0 + a_column < k, b_inside = l0 + b_row < k && column0 + b_column < n;
    a[a_row][a_column] = a_inside ? A[(row0 + a_row) * lda + l0 + a_column] : 0.0f;
    b[b_row][b_column] = b_inside ? B[(l0 + b_row) * ldb + column0 + b_column] : 0.0f;
    __syncthreads();
#pragma unroll
    for (int l = 0; l < BK; ++l) {
      const float bl = b[l][tx];
#pragma unroll
      for (int i = 0; i < TM; ++i) sum[i] += a[ty + i][l] * bl;
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < TM; ++i) {
    if (row0 + ty + i >= m || column0 + tx >= n) continue;
    float* c = &C[(row0 + ty + i) * ldc + column0 + tx];
    *c = beta == 0.0f ? alpha * sum[i] : alpha * sum[i] + beta * *c;
  }
}

static void launch(std::size_t m, std::size_t n, std::size_t k, float alpha, const float* A, std::size_t lda,
                   const float* B, std::size_t ldb, float beta, float* C, std::size_t ldc) {
  if (m == 0 || n == 0) return;
  if (alpha == 0) k = 0;  // A and B are not read
  const auto tiles_m = static_cast<unsigned>(ceil_div(m, BM)), tiles_n = static_cast<unsigned>(ceil_div(n, BN));
  sgemm_thread_tile_1d<<<tiles_m * tiles_n, kThreads>>>(m, n, k, alpha, A, lda, B, ldb, beta, C, ldc, tiles_n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Sgemm, launch);
