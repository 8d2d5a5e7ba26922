// Problem:  FP32 FMAs reach 67 TFLOP/s on an H100; its tensor cores multiply TF32, 10 bits of fraction, at 494.
// Idea:     WMMA with 16 x 16 x 8 fragments. Elements are rounded to TF32 first: a tensor core would cut 13 bits off.
// Expect:   5 to 15 % of cuBLAS: a thread loads one element at a time, and nothing overlaps these loads.
// Measured: 0.049x cuBLAS at 4096 (H200); 0.05x (H100).
// Next:     the error is 2^-11 of an element instead of 2^-24. What would three products per product buy? (3xTF32)
// needs: sm_80
#include "sgemm_tf32.cuh"

#include <mma.h>

namespace wmma = nvcuda::wmma;

constexpr int BM = 64, BN = 64, BK = 16;
constexpr int kThreads = 128;  // 2 x 2 warps

__global__ void sgemm_tf32_wmma(long long M, long long N, long long K, float alpha, const float* __restrict__ A,
                                long long lda, const float* __restrict__ B, long long ldb, float beta,
                                float* __restrict__ C, long long ldc, unsigned tiles_n) {
  __shared__ __align__(32) float As[BM][BK], Bs[BK][BN];  // aligned as load_matrix_sync needs
  __shared__ __align__(32) float Cs[BM][BN];
  const int tid = threadIdx.x, warp_row = tid / 32 / 2 * 32, warp_col = tid / 32 % 2 * 32;
  const long long row0 = static_cast<long long>(blockIdx.x / tiles_n) * BM;
  const long long col0 = static_cast<long long>(blockIdx.x % tiles_n) * BN;

  wmma::fragment<wmma::accumulator, 16, 16, 8, float> acc[2][2];
  for (auto& row : acc) {
    for (auto& fragment : row) wmma::fill_fragment(fragment, 0.0f);
  }
  for (long long k0 = 0; k0 < K; k0 += BK) {
    // load a tile of A and of B, zeros past the edges
#pragma unroll
    for (int i = tid; i < BM * BK; i += kThreads) {
      const long long row = row0 + i / BK, k = k0 + i % BK;
      As[i / BK][i % BK] = wmma::__float_to_tf32(row < M && k < K ? A[row * lda + k] : 0.0f);
    }
#pragma unroll
    for (int i = tid; i < BK * BN; i += kThreads) {
      const long long k = k0 + i / BN, col = col0 + i % BN;
      Bs[i / BN][i % BN] = wmma::__float_to_tf32(k < K && col < N ? B[k * ldb + col] : 0.0f);
    }
    __syncthreads();
    // multiply: 2 x 2 fragments of C per warp
    for (int k = 0; k < BK; k += 8) {
      wmma::fragment<wmma::matrix_a, 16, 16, 8, wmma::precision::tf32, wmma::row_major> a[2];
      wmma::fragment<wmma::matrix_b, 16, 16, 8, wmma::precision::tf32, wmma::row_major> b[2];
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
    float& c = C[row * ldc + col];
    const float scaled = alpha * Cs[i / BN][i % BN];
    c = beta == 0.0f ? scaled : scaled + beta * c;
  }
}

static void launch(std::size_t M, std::size_t N, std::size_t K, float alpha, const float* A, std::size_t lda,
                   const float* B, std::size_t ldb, float beta, float* C, std::size_t ldc) {
  if (M == 0 || N == 0) return;
  if (alpha == 0) K = 0;  // A and B are not read
  const auto tiles_m = static_cast<unsigned>(ceil_div(M, BM)), tiles_n = static_cast<unsigned>(ceil_div(N, BN));
  sgemm_tf32_wmma<<<tiles_m * tiles_n, kThreads>>>(M, N, K, alpha, A, lda, B, ldb, beta, C, ldc, tiles_n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(SgemmTf32, launch);
