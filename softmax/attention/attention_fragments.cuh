// Device functions of attention 09: Q as A operand, the mask, the online softmax, the store. A warp has 16 queries;
// scores and O are accumulators of mma.sync.m16n8k8. With t = lane % 4, a thread holds rows `row` = 16 warp + lane / 4
// and row + 8:
//   s[j][e]: the score of row + e / 2 * 8 and key 8 j + 2 t + e % 2 of a tile;
//   o[i][x][e]: O of row + e / 2 * 8 in column 32 i + 8 t + x, plus 4 for odd e.
// The block's first query is row0. All lanes of a warp must call these functions together.
#pragma once
#include "../attention_float4.cuh"
#include "attention_tile.cuh"  // copy_rows_async; group_max, group_sum, shift_for

// Returns the thread's fragment i of Q, in shared memory.
template <int kThreads>
__device__ float4& query_fragment(float* Qs, int i) {
  return as4(Qs[(i * kThreads + threadIdx.x) * 4]);
}

// Stores kScoreScale * Q as fragments, 0 past the last query. A thread reads only what it stored: no barrier is needed.
template <int D, int kThreads, bool kAligned>
__device__ void load_query_fragments(float* Qs, const float* Q, long long row0, int row, int t, long long queries) {
  const auto query = [&](int r, int c) {  // four elements from dimension 8 t + c on
    if (row0 + row + r >= queries) return float4{};
    const float4 q = load4<kAligned>(Q + ((row + r) * D + t * 8 + c));
    return float4{kScoreScale<D> * q.x, kScoreScale<D> * q.y, kScoreScale<D> * q.z, kScoreScale<D> * q.w};
  };
#pragma unroll
  for (int i = 0; i < D / 8; i += 2) {
    const int c = i / 4 * 32 + i % 4 * 2;
    const float4 q0 = query(0, c), q8 = query(8, c);
    query_fragment<kThreads>(Qs, i) = {q0.x, q8.x, q0.y, q8.y};
    query_fragment<kThreads>(Qs, i + 1) = {q0.z, q8.z, q0.w, q8.w};
  }
}

// Sets scores to -inf if a row does not attend to the key: after i + ahead for query i, and past the last key.
template <int kTiles>
__device__ void mask_fragments(float (&s)[kTiles][4], long long key0, long long keys, long long row0, int row, int t,
                               long long ahead) {
  if (key0 + 8 * kTiles <= min(keys, row0 + ahead + 1)) return;  // the block's first row attends to all, so all do
#pragma unroll
  for (int e = 0; e < 4 * kTiles; ++e) {
    const long long key = key0 + e / 4 * 8 + 2 * t + e % 2;
    if (key > min(keys - 1, row0 + row + e % 4 / 2 * 8 + ahead)) s[e / 4][e % 4] = -INFINITY;
  }
}

// Turns scores into P, adds P to this lane's sum, and updates max. The caller must multiply its O by `rescale`.
template <int kTiles>
__device__ void scores_to_weights(float (&s)[kTiles][4], float (&max)[2], float (&sum)[2], float (&rescale)[2]) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    float m = max[r];
#pragma unroll
    for (int j = 0; j < kTiles; ++j) m = fmaxf(m, fmaxf(s[j][2 * r], s[j][2 * r + 1]));
    m = group_max<4>(m);
    const float shift = shift_for(m);
    rescale[r] = exp2f(max[r] - shift);
    max[r] = m;
    sum[r] *= rescale[r];
#pragma unroll
    for (int e = 0; e < 2 * kTiles; ++e) {
      float& score = s[e / 2][2 * r + e % 2];
      score = exp2f(score - shift);
      sum[r] += score;
    }
  }
}

// Adds up the lanes' sums of a row, divides and stores. O points to the block's first query.
template <int D, bool kAligned>
__device__ void store_fragments(const float (&o)[D / 32][4][4], const float (&sum)[2], float* O, long long row0,
                                int row, int t, long long queries) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const float total = group_sum<4>(sum[r]), factor = total == 0.0f ? 0.0f : 1.0f / total;
    if (row0 + row + 8 * r >= queries) continue;
#pragma unroll
    for (int i = 0; i < D / 16; ++i) {
      const auto& from = o[i / 2];
      const int e = 2 * r + i % 2;
      // row * D + 8 t is written differently than for Q, or the compiler keeps it during the loop and spills it
      store4<kAligned>(O + (8 * (row * (D / 8) + t) + 8 * r * D + i / 2 * 32 + i % 2 * 4),
                       {factor * from[0][e], factor * from[1][e], factor * from[2][e], factor * from[3][e]});
    }
  }
}
