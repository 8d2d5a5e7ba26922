// The online softmax: the pair that stands for a set of elements, the rule by which two pairs merge, and that rule over
// lanes, a warp and a block. Why it is right: the chapter, under "The online rule".
#pragma once
#include "ladder.cuh"

// max: the elements' maximum; sum: of exp(x - max). Nothing seen yet is {-inf, 0}, one element x is {x, 1}.
struct MaxSum {
  float max, sum;
};

// What to subtract before exp. The guard: where only -inf has been seen, or nothing, -inf - -inf would be NaN, and the
// lanes that a short row leaves idle would spoil the others. With 0 in its place exp(-inf - 0) is 0, and sum stays 0.
__device__ inline float shift_for(float max) { return max == -INFINITY ? 0.0f : max; }

// The pair of both sets together, in whatever order and grouping. fmaxf passes over NaN; sum keeps it.
__device__ inline MaxSum merge(MaxSum a, MaxSum b) {
  const float max = fmaxf(a.max, b.max), shift = shift_for(max);
  return {max, a.sum * expf(a.max - shift) + b.sum * expf(b.max - shift)};
}

// Merged over the warp, in every lane, with the same bits. All 32 lanes must call it.
__device__ inline MaxSum warp_merge(MaxSum v) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) {
    v = merge(v, {__shfl_xor_sync(0xffffffff, v.max, offset), __shfl_xor_sync(0xffffffff, v.sum, offset)});
  }
  return v;
}

// The maximum and the sum over groups of `lanes` neighbouring lanes, in each of them. All 32 lanes must call them.
template <unsigned lanes>
__device__ inline float group_max(float v) {
#pragma unroll
  for (unsigned offset = lanes / 2; offset > 0; offset /= 2) v = fmaxf(v, __shfl_xor_sync(0xffffffff, v, offset));
  return v;
}
template <unsigned lanes>
__device__ inline float group_sum(float v) {
#pragma unroll
  for (unsigned offset = lanes / 2; offset > 0; offset /= 2) v += __shfl_xor_sync(0xffffffff, v, offset);
  return v;
}

// Pairs merged over such groups, with one exp where warp_merge takes ten: all agree on the maximum first.
template <unsigned lanes>
__device__ inline MaxSum group_merge(MaxSum v) {
  const float max = group_max<lanes>(v.max);
  return {max, group_sum<lanes>(v.sum * expf(v.max - shift_for(max)))};
}

// Merged over a block of `count` warps, at most 32, in every thread, with the same bits. All threads of the block must
// call it, and once only: a second call would write `warps` while slower threads still read it.
template <unsigned count>
__device__ inline MaxSum block_merge_once(MaxSum v) {
  __shared__ MaxSum warps[count];
  const unsigned lane = threadIdx.x % 32;
  v = warp_merge(v);
  if (lane == 0) warps[threadIdx.x / 32] = v;
  __syncthreads();
  return warp_merge(lane < count ? warps[lane] : MaxSum{-INFINITY, 0.0f});
}

// The same, as often as one likes.
template <unsigned count>
__device__ inline MaxSum block_merge(MaxSum v) {
  __syncthreads();  // `warps` may still be read from the call before
  return block_merge_once<count>(v);
}
