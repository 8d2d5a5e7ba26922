// Problem:  step 12 has one tile in flight, in registers that a larger thread tile could use.
// Idea:     cp.async copies without registers, 3 tiles in flight in 4 stages. That leaves room for 8 x 16 per thread.
// Expect:   1.1 to 1.3x step 12 at 4096: a quarter fewer words per multiply-add; the copy takes no registers or stores.
// Measured: 1.13x step 12, 1.01x cuBLAS at 4096 (H200); 1.14x, 1.01x (H100).
// Next:     512 tiles on 132 SMs are 3.9 waves. What do the SMs without a tile do in the last one? And with 32 tiles?
#include "float4_access.cuh"

#include <cuda_pipeline.h>

constexpr int BM = 128, BN = 256, BK = 8;  // sweep.py tries others
constexpr int WM = 64, WN = 64;
constexpr int TM = 8, TN = 16;
constexpr int kStages = 4;
constexpr int kThreads = BM / WM * (BN / WN) * 32;
constexpr int kSubtileM = WM / (TM / 4), kSubtileN = WN / (TN / 4);  // between a thread's groups of four
static_assert(WM / TM == 8 && WN / TN == 4, "the lanes form 8 rows of 4");

constexpr int kPad = 4;                // floats at the end of each row of As
constexpr int kRowsA = kThreads / BK;  // rows of A that the block copies at a time, one float per thread
struct Stage {
  float As[BK][BM + kPad], Bs[BK][BN];
};

// Return the first row and column of this thread's accumulators in the block's tile.
__device__ static int first_row(int tid) { return tid / 32 / (BN / WN) * WM + ((tid >> 1 & 1) | (tid >> 1 & 6)) * 4; }
__device__ static int first_col(int tid) { return tid / 32 % (BN / WN) * WN + ((tid & 1) | (tid >> 3 & 2)) * 4; }

// Computes acc += A B over the k tiles t0 to t0 + tiles - 1 (here all of them; step 14 passes parts) for the tile of C
// at (row0, col0). k tile 0 is the remainder of K, 1 to BK deep. kCopyFloats: 4 if rows of B are 16-byte aligned, else
// 1. All threads of the block must call it. A barrier must come before the next call reuses the kStages `stages`.
template <int kCopyFloats>
__device__ __forceinline__ void add_k_tiles(Stage* stages, long long M, long long N, long long K,
                                            const float* __restrict__ A, long long lda, const float* __restrict__ B,
                                            long long ldb, long long row0, long long col0, int t0, int tiles,
                                            float (&acc)[TM][TN]) {
  const int tid = threadIdx.x, thread_col = first_col(tid), thread_row = first_row(tid);
  // This thread copies column a_k of some rows of A, and kCopyFloats columns of some rows of B. Past the edges it
  // copies the last row or column again; these products are not stored.
  const int a_row = tid / BK, a_k = tid % BK, b_k = tid / (BN / kCopyFloats),
            b_col = tid % (BN / kCopyFloats) * kCopyFloats;
  constexpr int kRowsB = kThreads * kCopyFloats / BN;
  const int tiles_k = static_cast<int>((K + BK - 1) / BK), remainder = static_cast<int>(K - (tiles_k - 1LL) * BK);

  const long long k0 = t0 == 0 ? 0 : remainder + (t0 - 1LL) * BK;
  const float *from_a[BM / kRowsA],
      *from_b = B + (k0 + b_k) * ldb + min(col0 + b_col, (N - 1) / kCopyFloats * kCopyFloats);
#pragma unroll
  for (int i = 0; i < BM / kRowsA; ++i) from_a[i] = A + min(row0 + a_row + i * kRowsA, M - 1) * lda + k0 + a_k;
  long long step_b = kRowsB * ldb;
  int copied = 0;  // k tiles so far
  // Past the last tile it copies that tile again, into a stage that is not read: a branch would bunch the copies.
  const auto copy = [&](Stage& to) {
#pragma unroll
    for (int i = 0; i < BM; i += kRowsA) __pipeline_memcpy_async(&to.As[a_k][a_row + i], from_a[i / kRowsA], 4);
#pragma unroll
    for (int i = 0; i < BK / kRowsB; ++i) {
      __pipeline_memcpy_async(&to.Bs[b_k + i * kRowsB][b_col], from_b + i * step_b, 4 * kCopyFloats);
    }
    __pipeline_commit();
    const int advance = ++copied < tiles ? BK : 0;
#pragma unroll
    for (const float*& p : from_a) p += advance;
    from_b += advance * ldb;
  };
  // Copies the first tile: the remainder of K, then zeros.
  const auto copy_remainder = [&](Stage& to) {
#pragma unroll
    for (int i = 0; i < BM; i += kRowsA) {
      const bool inside = a_k < remainder;
      __pipeline_memcpy_async(&to.As[a_k][a_row + i], inside ? from_a[i / kRowsA] : A, 4, inside ? 0 : 4);
    }
#pragma unroll
    for (int i = 0; i < BK; i += kRowsB) {
      const bool inside = b_k + i < remainder;
      __pipeline_memcpy_async(&to.Bs[b_k + i][b_col], inside ? from_b + i * ldb : B, 4 * kCopyFloats,
                              inside ? 0 : 4 * kCopyFloats);
    }
    __pipeline_commit();
    const bool only = ++copied == tiles;  // later copies are not used, but need a valid address
#pragma unroll
    for (const float*& p : from_a) p = only ? A : p + remainder;
    from_b = only ? B : from_b + remainder * ldb;
    if (only) step_b = 0;
  };

  float regM[2][TM], regN[2][TN];
  const auto read = [&](const Stage& from, int k) {
#pragma unroll
    for (int i = 0; i < TM; i += 4) as4(regM[k % 2][i]) = as4(from.As[k][thread_row + i / 4 * kSubtileM]);
#pragma unroll
    for (int j = 0; j < TN; j += 4) as4(regN[k % 2][j]) = as4(from.Bs[k][thread_col + j / 4 * kSubtileN]);
  };

  // prologue: kStages - 1 tiles in flight
  if (tiles > 0) {
    if (t0 == 0) {
      copy_remainder(stages[0]);
    } else {
      copy(stages[0]);
    }
#pragma unroll
    for (int s = 1; s < kStages - 1; ++s) copy(stages[s]);
    __pipeline_wait_prior(kStages - 2);
    __syncthreads();
    read(stages[0], 0);
  }
  // main loop
  int current = 0, next = kStages - 1;  // the stage in use, and the one to be filled
#pragma unroll 1
  for (int t = 0; t < tiles; ++t) {
#pragma unroll
    for (int k = 0; k < BK; ++k) {
      if (k == 1) {  // from here the compiler spreads the copies best among the products (NOTES.md)
        copy(stages[next]);
        next = next + 1 == kStages ? 0 : next + 1;
      }
      if (k == BK - 1) {  // the next tile has arrived, and all threads have read this one
        __pipeline_wait_prior(kStages - 2);
        __syncthreads();
        current = current + 1 == kStages ? 0 : current + 1;
      }
      read(stages[current], (k + 1) % BK);
#pragma unroll
      for (int j = 0; j < TN; ++j) {
#pragma unroll
        for (int i = 0; i < TM; ++i) {
          const int ii = j % 2 == 0 ? i : TM - 1 - i;  // back and forth: fewer register bank conflicts
          acc[ii][j] += regM[k % 2][ii] * regN[k % 2][j];
        }
      }
    }
  }
  __pipeline_wait_prior(0);
}

template <int kCopyFloats>
__global__ void __launch_bounds__(kThreads)
    sgemm_cp_async(long long M, long long N, long long K, float alpha, const float* __restrict__ A, long long lda,
                   const float* __restrict__ B, long long ldb, float beta, float* __restrict__ C, long long ldc,
                   unsigned tiles_n, bool aligned_c) {
  extern __shared__ float4 smem[];
  const int tid = threadIdx.x;
  const long long row0 = static_cast<long long>(blockIdx.x / tiles_n) * BM;
  const long long col0 = static_cast<long long>(blockIdx.x % tiles_n) * BN;
  float acc[TM][TN] = {};
  add_k_tiles<kCopyFloats>(reinterpret_cast<Stage*>(smem), M, N, K, A, lda, B, ldb, row0, col0, 0,
                           static_cast<int>((K + BK - 1) / BK), acc);
  // epilogue
#pragma unroll
  for (int i = 0; i < TM; ++i) {
#pragma unroll
    for (int j = 0; j < TN; j += 4) {
      store4_scaled(M, N, alpha, make_float4(acc[i][j], acc[i][j + 1], acc[i][j + 2], acc[i][j + 3]), beta, C, ldc,
                    row0 + first_row(tid) + i / 4 * kSubtileM + i % 4, col0 + first_col(tid) + j / 4 * kSubtileN,
                    aligned_c);
    }
  }
}

[[maybe_unused]] static void launch_cp_async(std::size_t M, std::size_t N, std::size_t K, float alpha, const float* A,
                                             std::size_t lda, const float* B, std::size_t ldb, float beta, float* C,
                                             std::size_t ldc) {
  if (M == 0 || N == 0) return;
  if (alpha == 0) K = 0;  // A and B are not read
  const auto tiles_m = static_cast<unsigned>(ceil_div(M, BM)), tiles_n = static_cast<unsigned>(ceil_div(N, BN));
  const bool aligned_b = aligned_for<float4>(B) && ldb % 4 == 0 && N % 4 == 0;
  const bool aligned_c = aligned_for<float4>(C) && ldc % 4 == 0;
  const auto kernel = aligned_b ? sgemm_cp_async<4> : sgemm_cp_async<1>;
  constexpr int bytes = kStages * sizeof(Stage);
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  kernel<<<tiles_m * tiles_n, kThreads, bytes>>>(M, N, K, alpha, A, lda, B, ldb, beta, C, ldc, tiles_n, aligned_c);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Sgemm, launch_cp_async);
