// In step 11 the next tile passes through registers, and only one is on its way. Idea: cp.async copies from global to
// shared memory without them. A ring of 4 stages has 3 tiles on their way, and the registers hold more sums: 8 x 16 for
// each thread, 128 x 256 for the block. A copy may be as small as 4 bytes, so A is transposed on the way, aligned or
// not; B goes in copies of 16 bytes, or of 4 if its rows are not aligned. Two tricks keep every check out of the loop:
// rows and columns outside are copies of the last ones inside, and what comes of them is not stored; and if k is no
// multiple of the tiles' depth, the odd piece comes first, padded with zeros before the loop begins. Where there is no
// next tile, the last is copied again, into a stage that nobody reads: a branch there would keep the compiler from
// scattering the copies among the products.
// Expect: twelve per cent where there are tiles enough. 24 numbers from shared memory for 128 products, where there
// were 16 for 64.
// Next question: 512 tiles on 132 SMs are 3.9 waves. What do SMs without a tile do in the last? And with 32 tiles?
#include "float4_access.cuh"

#include <cuda_pipeline.h>

constexpr int BM = 128, BN = 256, BK = 8;  // sweep.py tries others
constexpr int WM = 64, WN = 64;
constexpr int TM = 8, TN = 16;
constexpr int kStages = 4;
constexpr int kThreads = BM / WM * (BN / WN) * 32;
constexpr int kHopM = WM / (TM / 4), kHopN = WN / (TN / 4);  // between a thread's groups of four rows or columns
static_assert(WM / TM == 8 && WN / TN == 4, "the lanes form 8 rows of 4");

constexpr int kPad = 4;                // floats behind each row of a
constexpr int kRowsA = kThreads / BK;  // that the block copies at a time, one float for each thread
struct Stage {
  float a[BK][BM + kPad], b[BK][BN];
};

// The first row and column of this thread's sums in the block's tile.
__device__ static int first_row(int tid) { return tid / 32 / (BN / WN) * WM + ((tid >> 1 & 1) | (tid >> 1 & 6)) * 4; }
__device__ static int first_column(int tid) { return tid / 32 % (BN / WN) * WN + ((tid & 1) | (tid >> 3 & 2)) * 4; }

// kVector: floats of B in a copy.
template <int kVector>
__global__ void __launch_bounds__(kThreads)
    sgemm_cp_async(long long m, long long n, long long k, float alpha, const float* __restrict__ A, long long lda,
                   const float* __restrict__ B, long long ldb, float beta, float* __restrict__ C, long long ldc,
                   unsigned tiles_n, bool aligned_c) {
  extern __shared__ float4 memory[];
  Stage* const stages = reinterpret_cast<Stage*>(memory);
  const int tid = threadIdx.x, tx = first_column(tid), ty = first_row(tid);
  const long long row0 = static_cast<long long>(blockIdx.x / tiles_n) * BM;
  const long long column0 = static_cast<long long>(blockIdx.x % tiles_n) * BN;
  const int tiles = static_cast<int>((k + BK - 1) / BK), odd = static_cast<int>(k - (tiles - 1LL) * BK);

  // What this thread copies of each tile: column a_l in some rows of A, kVector columns in some rows of B.
  constexpr int kRowsB = kThreads * kVector / BN;
  const int a_row = tid / BK, a_l = tid % BK, b_l = tid / (BN / kVector), b_column = tid % (BN / kVector) * kVector;
  const float *from_a[BM / kRowsA], *from_b = B + b_l * ldb + min(column0 + b_column, (n - 1) / kVector * kVector);
#pragma unroll
  for (int i = 0; i < BM / kRowsA; ++i) from_a[i] = A + min(row0 + a_row + i * kRowsA, m - 1) * lda + a_l;
  long long step_b = kRowsB * ldb;
  int copied = 0;  // tiles
  const auto copy = [&](Stage& to) {
#pragma unroll
    for (int i = 0; i < BM; i += kRowsA) __pipeline_memcpy_async(&to.a[a_l][a_row + i], from_a[i / kRowsA], 4);
#pragma unroll
    for (int i = 0; i < BK / kRowsB; ++i) {
      __pipeline_memcpy_async(&to.b[b_l + i * kRowsB][b_column], from_b + i * step_b, 4 * kVector);
    }
    __pipeline_commit();
    const int go = ++copied < tiles ? BK : 0;
#pragma unroll
    for (const float*& p : from_a) p += go;
    from_b += go * ldb;
  };
  const auto copy_odd = [&](Stage& to) {
#pragma unroll
    for (int i = 0; i < BM; i += kRowsA) {
      const bool inside = a_l < odd;
      __pipeline_memcpy_async(&to.a[a_l][a_row + i], inside ? from_a[i / kRowsA] : A, 4, inside ? 0 : 4);
    }
#pragma unroll
    for (int i = 0; i < BK; i += kRowsB) {
      const bool inside = b_l + i < odd;
      __pipeline_memcpy_async(&to.b[b_l + i][b_column], inside ? from_b + i * ldb : B, 4 * kVector,
                              inside ? 0 : 4 * kVector);
    }
    __pipeline_commit();
    const bool only = ++copied == tiles;  // then nothing else may be read again: there might be no full tile
#pragma unroll
    for (const float*& p : from_a) p = only ? A : p + odd;
    from_b = only ? B : from_b + odd * ldb;
    if (only) step_b = 0;
  };

  float al[2][TM], bl[2][TN], sum[TM][TN] = {};
  const auto read = [&](const Stage& from, int l) {
#pragma unroll
    for (int i = 0; i < TM; i += 4) as4(al[l % 2][i]) = as4(from.a[l][ty + i / 4 * kHopM]);
#pragma unroll
    for (int j = 0; j < TN; j += 4) as4(bl[l % 2][j]) = as4(from.b[l][tx + j / 4 * kHopN]);
  };

  if (tiles > 0) {
    copy_odd(stages[0]);
#pragma unroll
    for (int s = 1; s < kStages - 1; ++s) copy(stages[s]);
    __pipeline_wait_prior(kStages - 2);
    __syncthreads();
    read(stages[0], 0);
  }
  int current = 0, next = kStages - 1;  // the stage in use, and the one to be filled
#pragma unroll 1
  for (int t = 0; t < tiles; ++t) {
#pragma unroll
    for (int l = 0; l < BK; ++l) {
      if (l == 1) {  // where the compiler scatters the copies best
        copy(stages[next]);
        next = next + 1 == kStages ? 0 : next + 1;
      }
      if (l == BK - 1) {  // the next tile must be complete, and this one read by all before it is overwritten
        __pipeline_wait_prior(kStages - 2);
        __syncthreads();
        current = current + 1 == kStages ? 0 : current + 1;
      }
      read(stages[current], (l + 1) % BK);
#pragma unroll
      for (int j = 0; j < TN; ++j) {
#pragma unroll
        for (int i = 0; i < TM; ++i) {
          const int ii = j % 2 == 0 ? i : TM - 1 - i;
          sum[ii][j] += al[l % 2][ii] * bl[l % 2][j];
        }
      }
    }
  }
  __pipeline_wait_prior(0);

#pragma unroll
  for (int i = 0; i < TM; ++i) {
#pragma unroll
    for (int j = 0; j < TN; j += 4) {
      store4_scaled(m, n, alpha, make_float4(sum[i][j], sum[i][j + 1], sum[i][j + 2], sum[i][j + 3]), beta, C, ldc,
                    row0 + ty + i / 4 * kHopM + i % 4, column0 + tx + j / 4 * kHopN, aligned_c);
    }
  }
}

static void launch(std::size_t m, std::size_t n, std::size_t k, float alpha, const float* A, std::size_t lda,
                   const float* B, std::size_t ldb, float beta, float* C, std::size_t ldc) {
  if (m == 0 || n == 0) return;
  if (alpha == 0) k = 0;  // A and B are not read
  const auto tiles_m = static_cast<unsigned>(ceil_div(m, BM)), tiles_n = static_cast<unsigned>(ceil_div(n, BN));
  const bool aligned_b = aligned_for<float4>(B) && ldb % 4 == 0 && n % 4 == 0;
  const bool aligned_c = aligned_for<float4>(C) && ldc % 4 == 0;
  const auto kernel = aligned_b ? sgemm_cp_async<4> : sgemm_cp_async<1>;
  constexpr int bytes = kStages * sizeof(Stage);
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  kernel<<<tiles_m * tiles_n, kThreads, bytes>>>(m, n, k, alpha, A, lda, B, ldb, beta, C, ldc, tiles_n, aligned_c);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Sgemm, launch);
