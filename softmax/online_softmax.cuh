// The online softmax: a pair (maximum, sum of exponentials) represents a set of elements, and pairs merge within a
// warp, within a block and between blocks. Derivation: row_softmax/README.md, "The online rule".
#pragma once
#include "ladder.cuh"

// max: the elements' maximum; sum: the sum of exp(x - max). The empty set is {-inf, 0}, one element x is {x, 1}.
struct alignas(8) MaxSum {  // a pair is loaded in one access
  float max, sum;
};

// Returns what to subtract before exp: 0 instead of -inf, as -inf - -inf is NaN. exp(-inf - 0) = 0 keeps the sum 0.
__device__ inline float shift_for(float max) { return max == -INFINITY ? 0.0f : max; }

// Returns the pair of both sets together. Pairs merge in any order and grouping. fmaxf drops NaN; sum keeps it.
__device__ inline MaxSum merge(MaxSum a, MaxSum b) {
  const float max = fmaxf(a.max, b.max), shift = shift_for(max);
  return {max, a.sum * expf(a.max - shift) + b.sum * expf(b.max - shift)};
}

// Return the maximum and the sum over groups of kLanes neighbouring lanes to each of them. All 32 lanes must call them.
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

// Merges the pairs of kLanes neighbouring lanes; each lane gets the result, with the same bits. All 32 lanes must call
// it. One exp per lane, where five calls of merge() take ten. Roundings: 4 for exp, 1 for the product, 5 additions.
template <unsigned kLanes = 32>
__device__ inline MaxSum warp_merge(MaxSum v) {
  const float max = group_max<kLanes>(v.max);
  return {max, group_sum<kLanes>(v.sum * expf(v.max - shift_for(max)))};
}

// Merges the pairs of a one-dimensional block, or of its `warps` warps from `first` on; each of their threads gets the
// result, with the same bits. All threads must call it. A __syncthreads() is needed between two calls. Roundings: 20.
__device__ inline MaxSum block_merge(MaxSum v, unsigned first, unsigned warps) {
  __shared__ MaxSum of_warps[32];
  const unsigned lane = threadIdx.x % 32;
  v = warp_merge(v);
  if (lane == 0) of_warps[threadIdx.x / 32] = v;
  __syncthreads();
  return warp_merge(lane < warps ? of_warps[first + lane] : MaxSum{-INFINITY, 0.0f});
}
__device__ inline MaxSum block_merge(MaxSum v) { return block_merge(v, 0, blockDim.x / 32); }

// A pair for other blocks is one 64-bit word in global memory, so no fence is needed. Before it is published the word
// is kNoPair, which is not a valid pair: its maximum would be NaN, and fmaxf drops NaN.
constexpr unsigned long long kNoPair = ~0ull;

__device__ inline void publish(unsigned long long* to, MaxSum pair) {
  const auto high = static_cast<unsigned long long>(__float_as_uint(pair.max));
  atomicExch(to, high << 32 | __float_as_uint(pair.sum));
}
// Waits until another block has published the pair, and returns it.
__device__ inline MaxSum await(const unsigned long long* from) {
  const volatile unsigned long long* const word = from;
  unsigned long long bits = *word;
  while (bits == kNoPair) {
    __nanosleep(20);
    bits = *word;
  }
  return {__uint_as_float(static_cast<unsigned>(bits >> 32)), __uint_as_float(static_cast<unsigned>(bits))};
}
