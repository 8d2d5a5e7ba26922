// For col_softmax 04 and 06: how the maximum and sum of columns are found. A thread has four columns: a float4 holds
// their elements in one row, their maxima or their sums. The blocks of a cluster share a tile.
#pragma once
#include "col_softmax.cuh"
#include "../float4_row.cuh"

#include <cooperative_groups.h>

__device__ inline float4 maximum(float4 a, float4 b) {
  return {fmaxf(a.x, b.x), fmaxf(a.y, b.y), fmaxf(a.z, b.z), fmaxf(a.w, b.w)};
}
__device__ inline float4 add(float4 a, float4 b) { return {a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w}; }
__device__ inline float4 multiply(float4 a, float4 b) { return {a.x * b.x, a.y * b.y, a.z * b.z, a.w * b.w}; }
// exp(v - max), each column with its own maximum.
__device__ inline float4 exp_below(float4 v, float4 max) {
  return {expf(v.x - shift_for(max.x)), expf(v.y - shift_for(max.y)), expf(v.z - shift_for(max.z)),
          expf(v.w - shift_for(max.w))};
}

// Maximum or sum over the lanes with the same columns, returned to each of them. All 32 lanes must call it.
template <unsigned kLanes, float4 (*kOp)(float4, float4)>
__device__ inline float4 over_lanes(float4 v) {
#pragma unroll
  for (unsigned offset = 16; offset >= kLanes; offset /= 2) {
    const auto other = [&](float own) { return __shfl_xor_sync(0xffffffff, own, offset); };
    v = kOp(v, {other(v.x), other(v.y), other(v.z), other(v.w)});
  }
  return v;
}

// The columns of a thread are c + i * stride, i = 0..3. put4 writes their pairs of maximum and sum to row[].
__device__ inline void put4(MaxSum* row, unsigned c, unsigned stride, const float4& max, const float4& sum) {
  MaxSum* const to = &row[c];
  to[0] = {max.x, sum.x}, to[stride] = {max.y, sum.y}, to[2 * stride] = {max.z, sum.z}, to[3 * stride] = {max.w, sum.w};
}
// What turns exp_below(v, max) into results.
__device__ inline float4 factor4(const float4& max, const MaxSum* totals, unsigned c, unsigned stride) {
  const auto factor = [&](float max, MaxSum total) { return expf(max - total.max) / total.sum; };
  return {factor(max.x, totals[c]), factor(max.y, totals[c + stride]), factor(max.z, totals[c + 2 * stride]),
          factor(max.w, totals[c + 3 * stride])};
}

// As step 04 merges warps and blocks, for any size of tile, block and cluster. max, sum: what over_lanes returned.
// Returns factor4. All threads of the cluster must call it, with `buffer` 0 and 1 in turn. Arguments are references, as
// copies change the order of the compiler's instructions.
template <unsigned kLanes, unsigned kBlock, unsigned kCluster>
__device__ inline float4 cluster_factor(const float4& max, const float4& sum, unsigned c, unsigned stride,
                                        unsigned buffer) {
  constexpr unsigned kColumns = 4 * kLanes, kWarps = kBlock / 32;
  __shared__ MaxSum warps[kWarps][kColumns + 1], blocks[2][kCluster][kColumns], totals[kColumns];
  const auto cluster = cooperative_groups::this_cluster();
  const unsigned tid = threadIdx.x, rank = blockIdx.x % kCluster;
  if (tid % 32 < kLanes) put4(warps[tid / 32], c, stride, max, sum);
  __syncthreads();
#pragma unroll
  for (unsigned t = tid; t < kColumns * kWarps; t += kBlock) {
    const unsigned column = t / kWarps, warp = t % kWarps;
    const MaxSum of_block = group_merge<kWarps>(warps[warp][column]);
    if (kCluster == 1 && warp == 0) totals[column] = of_block;
    // Two buffers: a fast block's next pairs come while slow ones read these, but none after the next cluster.sync().
    for (unsigned b = warp; kCluster > 1 && b < kCluster; b += kWarps) {
      *cluster.map_shared_rank(&blocks[buffer][rank][column], b) = of_block;
    }
  }
  if (kCluster > 1) {
    cluster.sync();
#pragma unroll
    for (unsigned t = tid; t < kCluster * kColumns; t += kBlock) {
      const MaxSum total = group_merge<kCluster>(blocks[buffer][t % kCluster][t / kCluster]);
      if (t % kCluster == 0) totals[t / kCluster] = total;
    }
  }
  __syncthreads();
  return factor4(max, totals, c, stride);
}
