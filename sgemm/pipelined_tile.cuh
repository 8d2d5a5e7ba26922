// The loop of step 12, for step 13: the sums of a block's tile of C over some of its k tiles. Step 12 explains the
// copies, the tiles' layout and the edges; it keeps its own loop, to be read in one piece and to be swept (sweep.py).
// Change both or neither: its copies asked for one product earlier cost step 13 2 %.
#pragma once
#include "float4_access.cuh"

#include <cuda_pipeline.h>

constexpr int BM = 128, BN = 256, BK = 8;
constexpr int WM = 64, WN = 64;
constexpr int TM = 8, TN = 16;
constexpr int kStages = 4;
constexpr int kThreads = BM / WM * (BN / WN) * 32;
constexpr int kHopM = WM / (TM / 4), kHopN = WN / (TN / 4);  // between a thread's groups of four rows or columns
static_assert(WM / TM == 8 && WN / TN == 4, "the lanes form 8 rows of 4");

constexpr int kPad = 4;                // floats behind each row of a
constexpr int kRowsA = kThreads / BK;  // that the block copies at a time, one float for each thread
constexpr int kQuads = TM * TN / 4;    // groups of four sums, side by side, of each thread
struct Stage {
  float a[BK][BM + kPad], b[BK][BN];
};

// The first row and column of this thread's sums in the block's tile.
__device__ inline int first_row(int tid) { return tid / 32 / (BN / WN) * WM + ((tid >> 1 & 1) | (tid >> 1 & 6)) * 4; }
__device__ inline int first_column(int tid) { return tid / 32 % (BN / WN) * WN + ((tid & 1) | (tid >> 3 & 2)) * 4; }

// sum += A B over the k tiles t0 to t0 + tiles - 1, for the tile of C that begins at (row0, column0). k tile 0 is the
// odd piece of k, 1 to BK deep. kVector: floats of B in a copy, 4 where its rows are aligned, else 1. All threads of
// the block must call it; the kStages stages in shared memory are free for the next call after a barrier.
template <int kVector>
__device__ __forceinline__ void add_k_tiles(Stage* stages, long long m, long long n, long long k,
                                            const float* __restrict__ A, long long lda, const float* __restrict__ B,
                                            long long ldb, long long row0, long long column0, int t0, int tiles,
                                            float (&sum)[TM][TN]) {
  const int tid = threadIdx.x, tx = first_column(tid), ty = first_row(tid);
  const int a_row = tid / BK, a_l = tid % BK, b_l = tid / (BN / kVector), b_column = tid % (BN / kVector) * kVector;
  constexpr int kRowsB = kThreads * kVector / BN;
  const int tiles_k = static_cast<int>((k + BK - 1) / BK), odd = static_cast<int>(k - (tiles_k - 1LL) * BK);

  const long long l0 = t0 == 0 ? 0 : odd + (t0 - 1LL) * BK;
  const float *from_a[BM / kRowsA],
      *from_b = B + (l0 + b_l) * ldb + min(column0 + b_column, (n - 1) / kVector * kVector);
#pragma unroll
  for (int i = 0; i < BM / kRowsA; ++i) from_a[i] = A + min(row0 + a_row + i * kRowsA, m - 1) * lda + l0 + a_l;
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

  float al[2][TM], bl[2][TN];
  const auto read = [&](const Stage& from, int l) {
#pragma unroll
    for (int i = 0; i < TM; i += 4) as4(al[l % 2][i]) = as4(from.a[l][ty + i / 4 * kHopM]);
#pragma unroll
    for (int j = 0; j < TN; j += 4) as4(bl[l % 2][j]) = as4(from.b[l][tx + j / 4 * kHopN]);
  };

  if (tiles > 0) {
    if (t0 == 0) {
      copy_odd(stages[0]);
    } else {
      copy(stages[0]);
    }
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
}
