// Problem:  FP32 FMAs reach 67 TFLOP/s on an H100; its tensor cores multiply BF16 at 989, on whole tiles.
// Idea:     WMMA: a fragment is a 16 x 16 tile spread over a warp's registers. Tiles as in sgemm 04, 32 x 32 per warp.
// Expect:   5 to 15 % of cuBLAS: a thread loads one 2-byte element at a time, and nothing overlaps these loads.
// Measured: 0.026x cuBLAS at 4096 (H200); 0.026x (H100).
// Next:     fragments are opaque: which lane holds which element? (mma.sync, ldmatrix)
// needs: sm_80
#include "gemm_bf16.cuh"

#include <mma.h>

namespace wmma = nvcuda::wmma;

constexpr int BM = 64, BN = 64, BK = 32;
constexpr int kThreads = 128;  // 2 x 2 warps

__global__ void gemm_bf16_wmma(long long M, long long N, long long K, float alpha, const __nv_bfloat16* __restrict__ A,
                               long long lda, const __nv_bfloat16* __restrict__ B, long long ldb, float beta,
                               __nv_bfloat16* __restrict__ C, long long ldc, unsigned tiles_n) {
  __shared__ __align__(32) __nv_bfloat16 As[BM][BK], Bs[BK][BN];  // aligned as load_matrix_sync needs
  __shared__ __align__(32) float Cs[BM][BN];
  const int tid = threadIdx.x, warp_row = tid / 32 / 2 * 32, warp_col = tid / 32 % 2 * 32;
  const long long row0 = static_cast<long long>(blockIdx.x / tiles_n) * BM;
  const long long col0 = static_cast<long long>(blockIdx.x % tiles_n) * BN;

  wmma::fragment<wmma::accumulator, 16, 16, 16, float> acc[2][2];
  for (auto& row : acc) {
    for (auto& fragment : row) wmma::fill_fragment(fragment, 0.0f);
  }
  for (long long k0 = 0; k0 < K; k0 += BK) {
    // load a tile of A and of B, zeros past the edges
#pragma unroll
    for (int i = tid; i < BM * BK; i += kThreads) {
      const long long row = row0 + i / BK, k = k0 + i % BK;
      As[i / BK][i % BK] = row < M && k < K ? A[row * lda + k] : __float2bfloat16(0.0f);
    }
#pragma unroll
    for (int i = tid; i < BK * BN; i += kThreads) {
      const long long k = k0 + i / BN, col = col0 + i % BN;
      Bs[i / BN][i % BN] = k < K && col < N ? B[k * ldb + col] : __float2bfloat16(0.0f);
    }
    __syncthreads();
    // multiply: 2 x 2 fragments of C per warp
    for (int k = 0; k < BK; k += 16) {
      wmma::fragment<wmma::matrix_a, 16, 16, 16, __nv_bfloat16, wmma::row_major> a[2];
      wmma::fragment<wmma::matrix_b, 16, 16, 16, __nv_bfloat16, wmma::row_major> b[2];
      for (int i = 0; i < 2; ++i) wmma::load_matrix_sync(a[i], &As[warp_row + 16 * i][k], BK);
      for (int j = 0; j < 2; ++j) wmma::load_matrix_sync(b[j], &Bs[k][warp_col + 16 * j], BN);
      for (int i = 0; i < 2; ++i) {
        for (int j = 0; j < 2; ++j) wmma::mma_sync(acc[i][j], a[i], b[j], acc[i][j]);
      }
    }
    __syncthreads();
  }
  // store through shared memory: a lane does not know the rows and columns of the elements it holds
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 2; ++j) {
      wmma::store_matrix_sync(&Cs[warp_row + 16 * i][warp_col + 16 * j], acc[i][j], BN, wmma::mem_row_major);
    }
  }
  __syncthreads();
  for (int i = tid; i < BM * BN; i += kThreads) {
    const long long row = row0 + i / BN, col = col0 + i % BN;
    if (row >= M || col >= N) continue;
    __nv_bfloat16& c = C[row * ldc + col];
    const float scaled = alpha * Cs[i / BN][i % BN];
    c = __float2bfloat16(beta == 0.0f ? scaled : scaled + beta * __bfloat162float(c));
  }
}

static void launch(std::size_t M, std::size_t N, std::size_t K, float alpha, const __nv_bfloat16* A, std::size_t lda,
                   const __nv_bfloat16* B, std::size_t ldb, float beta, __nv_bfloat16* C, std::size_t ldc) {
  if (M == 0 || N == 0) return;
  if (alpha == 0) K = 0;  // A and B are not read
  const auto tiles_m = static_cast<unsigned>(ceil_div(M, BM)), tiles_n = static_cast<unsigned>(ceil_div(N, BN));
  gemm_bf16_wmma<<<tiles_m * tiles_n, kThreads>>>(M, N, K, alpha, A, lda, B, ldb, beta, C, ldc, tiles_n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(GemmBf16, launch);
