// Step 07 moves 4 bytes per load from global memory. Idea: float4. From global memory each thread loads one of A and
// one of B; its 8 elements of a row of b come from shared memory in two. Those of a lie in a column, so A is transposed
// on its way into shared memory: a[l][row]. 16 loads for 64 products become 4. float4 needs rows that are multiples of
// 16 bytes apart and a tile inside the matrices. So there are two paths: the whole tile, without bounds checks, and the
// edges, element by element; which one it is, is the same for the whole block.
// Expect: twice as fast: both loads are under way at once, and with 128 registers two blocks share a multiprocessor.
// Next question: the 16 threads that read a row of b do it 32 bytes apart, and those that write a column of a: which
// banks are these?
#include "float4_access.cuh"

constexpr int BM = 128, BN = 128, BK = 8;
constexpr int TM = 8, TN = 8;
constexpr int kThreads = (BM / TM) * (BN / TN);
static_assert(BM * BK == 4 * kThreads && BK * BN == 4 * kThreads, "each thread loads a float4 of A and one of B");

__global__ void __launch_bounds__(kThreads)
    sgemm_float4(long long m, long long n, long long k, float alpha, const float* __restrict__ A, long long lda,
                 const float* __restrict__ B, long long ldb, float beta, float* __restrict__ C, long long ldc,
                 unsigned tiles_n, bool aligned) {
  __shared__ alignas(16) float a[BK][BM], b[BK][BN];
  const int tid = threadIdx.x;
  const long long row0 = static_cast<long long>(blockIdx.x / tiles_n) * BM;
  const long long column0 = static_cast<long long>(blockIdx.x % tiles_n) * BN;
  const bool full = aligned && row0 + BM <= m && column0 + BN <= n;
  const int tx = tid % (BN / TN) * TN, ty = tid / (BN / TN) * TM;
  const int a_row = tid / (BK / 4), a_l = tid % (BK / 4) * 4, b_l = tid / (BN / 4), b_column = tid % (BN / 4) * 4;
  float sum[TM][TN] = {};
  for (long long l0 = 0; l0 < k; l0 += BK) {
    const float *from_a = &A[(row0 + a_row) * lda + l0 + a_l], *from_b = &B[(l0 + b_l) * ldb + column0 + b_column];
    float4 va, vb;
    if (full && l0 + BK <= k) {
      va = as4(*from_a), vb = as4(*from_b);
    } else {
      va = load4_guarded(from_a, row0 + a_row < m ? k - l0 - a_l : 0);
      vb = load4_guarded(from_b, l0 + b_l < k ? n - column0 - b_column : 0);
    }
    a[a_l][a_row] = va.x, a[a_l + 1][a_row] = va.y, a[a_l + 2][a_row] = va.z, a[a_l + 3][a_row] = va.w;
    as4(b[b_l][b_column]) = vb;
    __syncthreads();
#pragma unroll
    for (int l = 0; l < BK; ++l) {
      float al[TM], bl[TN];
#pragma unroll
      for (int i = 0; i < TM; i += 4) as4(al[i]) = as4(a[l][ty + i]);
#pragma unroll
      for (int j = 0; j < TN; j += 4) as4(bl[j]) = as4(b[l][tx + j]);
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
    const long long row = row0 + ty + i;
#pragma unroll
    for (int j = 0; j < TN; j += 4) {
      const long long column = column0 + tx + j;
      const float* s = &sum[i][j];
      const float4 v = make_float4(alpha * s[0], alpha * s[1], alpha * s[2], alpha * s[3]);
      if (full) {
        store4(C[row * ldc + column], v, beta);
      } else if (row < m) {
        store4_guarded(&C[row * ldc + column], v, beta, n - column);
      }
    }
  }
}

static void launch(std::size_t m, std::size_t n, std::size_t k, float alpha, const float* A, std::size_t lda,
                   const float* B, std::size_t ldb, float beta, float* C, std::size_t ldc) {
  if (m == 0 || n == 0) return;
  if (alpha == 0) k = 0;  // A and B are not read
  const auto tiles_m = static_cast<unsigned>(ceil_div(m, BM)), tiles_n = static_cast<unsigned>(ceil_div(n, BN));
  const bool aligned = aligned_for<float4>(A, B, C) && lda % 4 == 0 && ldb % 4 == 0 && ldc % 4 == 0;
  sgemm_float4<<<tiles_m * tiles_n, kThreads>>>(m, n, k, alpha, A, lda, B, ldb, beta, C, ldc, tiles_n, aligned);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Sgemm, launch);
