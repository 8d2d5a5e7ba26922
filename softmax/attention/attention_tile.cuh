// Device functions of attention 07 and 08, with float4 accesses: block shape, Q in shared memory, mask, online softmax
// of a tile of scores, store. The tile copy by cp.async is for 08 and 09.
#pragma once
#include "../attention_float4.cuh"
#include "cuda_helpers.cuh"
#include "../online_softmax.cuh"  // group_max, group_sum, shift_for

#include <cuda_pipeline.h>

// A warp's lanes form rows of kLanes. A thread has kRows rows (kRowStep apart), kKeys keys of a tile (kLanes apart) and
// kQuads float4 of a row of O. !kLarge: for few queries, and for GPUs with too little shared memory for a large block.
template <int D_, bool kLarge>
struct BlockShape {
  static constexpr int D = D_, kLanes = D / 8, kRows = 8, kRowStep = 32 / kLanes;
  static constexpr int kWarps = kLarge ? 4 : 2, kThreads = 32 * kWarps, kBlocks = kLarge ? 2 : 1;  // per SM
  static constexpr int BM = kWarps * kRowStep * kRows, BN = kLarge ? 64 : 32;
  static constexpr int kKeys = BN / kLanes, kQuads = D / kLanes / 4;
  static constexpr int kPitch = D + 4;  // floats between rows of K
  static constexpr int kBytes = 4 * (BM * D + BN * kPitch + BN * D + BM * BN);
  // The thread's first row and column, and row() % kRowStep.
  static __device__ int row() { return threadIdx.x / 32 * kRowStep * kRows + turn(); }
  static __device__ int col() { return threadIdx.x % kLanes; }
  static __device__ int turn() { return threadIdx.x % 32 / kLanes; }
};

// Starts copying kRows rows of D floats by cp.async, from dense rows to rows `pitch` floats apart in shared memory.
// Rows from `left` on become 0. !kAligned: copies single floats. All threads must call it, each with row = tid / (D /
// 4) and col = tid % (D / 4) * 4, computed once before the loop. `readable` is any address that may be read.
template <int kRows, int D, int kThreads, bool kAligned>
__device__ inline void copy_rows_async(float* to, int pitch, const float* from, long long left, int row, int col,
                                       const float* readable) {
  constexpr int kStep = kThreads / (D / 4), kCopied = kAligned ? 4 : 1;  // rows at a time, floats per copy
  to += row * pitch + col;
  from += row * D + col;
  if (left >= kRows) {  // a full tile: no test for each copy
#pragma unroll
    for (int r = 0; r < kRows; r += kStep) {
#pragma unroll
      for (int x = 0; x < 4; x += kCopied) __pipeline_memcpy_async(to + r * pitch + x, from + r * D + x, 4 * kCopied);
    }
  } else {
    for (int r = 0; r < kRows; r += kStep) {
      for (int x = 0; x < 4; x += kCopied) {
        const bool inside = row + r < left;
        __pipeline_memcpy_async(to + r * pitch + x, inside ? from + r * D + x : readable, 4 * kCopied,
                                inside ? 0 : 4 * kCopied);
      }
    }
  }
  __pipeline_commit();
}

// Q and P are swizzled in shared memory, not padded, as in transpose 06: column c of Q is at c ^ 4 turn, column j of P
// at j ^ kLanes turn. So the kRowStep rows that a warp reads at once are in different banks.

// Stores kScoreScale * Q in shared memory, so that P is exp2(q . k - max). Rows from `left` on become 0.
template <typename S, bool kAligned>
__device__ void load_queries(float* Qs, const float* Q, long long left) {
  constexpr float factor = kScoreScale<S::D>;
  for (unsigned e = 4 * threadIdx.x; e < S::BM * S::D; e += 4 * S::kThreads) {
    const unsigned row = e / S::D, c = e % S::D ^ row % S::kRowStep * 4;
    const float4 q = row < left ? load4<kAligned>(Q + e) : float4{};
    as4(Qs[row * S::D + c]) = {factor * q.x, factor * q.y, factor * q.z, factor * q.w};
  }
}

// The thread's rows of O, not yet divided by their sums.
template <typename S>
struct Rows {
  float max[S::kRows], sum[S::kRows], o[S::kRows][4 * S::kQuads];
};

// Sets scores to -inf if a row does not attend to the key: after last0 + r for row r, and past the last key.
template <typename S>
__device__ void mask_scores(float (&s)[S::kRows][S::kKeys], long long key0, long long keys, long long last0) {
  if (key0 + S::BN <= min(keys, last0 + 1)) return;  // row 0 attends to all, so all rows do
#pragma unroll
  for (int i = 0; i < S::kRows; ++i) {
    const long long last = min(keys - 1, last0 + S::row() + i * S::kRowStep);
#pragma unroll
    for (int j = 0; j < S::kKeys; ++j) {
      if (key0 + S::col() + j * S::kLanes > last) s[i][j] = -INFINITY;
    }
  }
}

// Turns scores into P, stored in Ps, and rescales sum and o to the new maximum. sum covers this lane's keys.
template <typename S>
__device__ void online_softmax(Rows<S>& rows, const float (&s)[S::kRows][S::kKeys], float* Ps) {
#pragma unroll
  for (int i = 0; i < S::kRows; ++i) {
    float m = rows.max[i];
#pragma unroll
    for (int j = 0; j < S::kKeys; ++j) m = fmaxf(m, s[i][j]);
    m = group_max<S::kLanes>(m);
    const float shift = shift_for(m), rescale = exp2f(rows.max[i] - shift);
    rows.max[i] = m;
    rows.sum[i] *= rescale;
#pragma unroll
    for (int j = 0; j < S::kKeys; ++j) {
      const float p = exp2f(s[i][j] - shift);
      rows.sum[i] += p;
      Ps[(S::row() + i * S::kRowStep) * S::BN + ((S::col() + j * S::kLanes) ^ S::turn() * S::kLanes)] = p;
    }
#pragma unroll
    for (float& o : rows.o[i]) o *= rescale;
  }
}

// Adds up the lanes' sums of a row, divides and stores. Rows from `left` on do not exist.
template <typename S, bool kAligned>
__device__ void store_rows(Rows<S>& rows, float* O, long long left) {
#pragma unroll
  for (int i = 0; i < S::kRows; ++i) {
    const float sum = group_sum<S::kLanes>(rows.sum[i]), factor = sum == 0.0f ? 0.0f : 1.0f / sum;
    const int row = S::row() + i * S::kRowStep;
    if (row >= left) continue;
#pragma unroll
    for (int c = 0; c < S::kQuads; ++c) {
      const float* o = &rows.o[i][4 * c];
      store4<kAligned>(O + row * S::D + (c * S::kLanes + S::col()) * 4,
                       {factor * o[0], factor * o[1], factor * o[2], factor * o[3]});
    }
  }
}
