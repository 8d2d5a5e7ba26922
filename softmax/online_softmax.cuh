// The online softmax: the pair (maximum, sum of exponentials) that stands for a set of elements, the rule by which two
// pairs merge, and that rule over lanes, a warp and a block. Why it is right: the chapter, under "The online rule".
#pragma once
#include "ladder.cuh"

// max: the elements' maximum; sum: the sum of exp(x - max). The empty set is {-inf, 0}, one element x is {x, 1}.
struct MaxSum {
  float max, sum;
};

// What to subtract before exp. The guard: in the empty set, or where all elements are -inf, x - max would be
// -inf - -inf = NaN. With 0 subtracted instead exp(-inf - 0) is 0, and sum stays 0.
__device__ inline float shift_for(float max) { return max == -INFINITY ? 0.0f : max; }

// The pair of both sets together, in any order and grouping. fmaxf passes over NaN; sum keeps it.
__device__ inline MaxSum merge(MaxSum a, MaxSum b) {
  const float max = fmaxf(a.max, b.max), shift = shift_for(max);
  return {max, a.sum * expf(a.max - shift) + b.sum * expf(b.max - shift)};
}

// Merged over the warp, returned to every lane with the same bits. All 32 lanes must call it.
__device__ inline MaxSum warp_merge(MaxSum v) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) {
    v = merge(v, {__shfl_xor_sync(0xffffffff, v.max, offset), __shfl_xor_sync(0xffffffff, v.sum, offset)});
  }
  return v;
}

// Maximum and sum over groups of kLanes neighbouring lanes, returned to each of them. All 32 lanes must call them.
template <unsigned kLanes>
__device__ inline float group_max(float v) {
#pragma unroll
  for (unsigned offset = kLanes / 2; offset > 0; offset /= 2) v = fmaxf(v, __shfl_xor_sync(0xffffffff, v, offset));
  return v;
}
template <unsigned kLanes>
__device__ inline float group_sum(float v) {
#pragma unroll
  for (unsigned offset = kLanes / 2; offset > 0; offset /= 2) v += __shfl_xor_sync(0xffffffff, v, offset);
  return v;
}

// Pairs merged over such groups. One exp per lane where warp_merge takes ten: the maximum first, then the sum.
template <unsigned kLanes>
__device__ inline MaxSum group_merge(MaxSum v) {
  const float max = group_max<kLanes>(v.max);
  return {max, group_sum<kLanes>(v.sum * expf(v.max - shift_for(max)))};
}

// Merged over a block of kWarps warps, at most 32, returned to every thread with the same bits. All threads must call
// it. Every call uses the same shared memory: a __syncthreads() is needed between two calls.
template <unsigned kWarps>
__device__ inline MaxSum block_merge(MaxSum v) {
  __shared__ MaxSum warps[kWarps];
  const unsigned lane = threadIdx.x % 32;
  v = warp_merge(v);
  if (lane == 0) warps[threadIdx.x / 32] = v;
  __syncthreads();
  return warp_merge(lane < kWarps ? warps[lane] : MaxSum{-INFINITY, 0.0f});
}
