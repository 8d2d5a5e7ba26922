// Pairs of a key and an index, for `argmax` and `top_k`. The greatest key wins; of equal keys, the smaller index.
#pragma once
#include "ladder.cuh"

struct KeyIndex {
  int key;
  long long index;
};

// Maps a float to an int of the same order: ... < 0 < ... < infinity < NaN. The addition turns -0 into +0.
__device__ inline int argmax_key(float v) {
  const int bits = __float_as_int(v + 0.0f);
  return v != v ? 0x7fffffff : bits ^ (bits >> 31 & 0x7fffffff);
}

// Returns the identity of the reduction: its key is below the key of -infinity.
__device__ inline KeyIndex no_element() { return {static_cast<int>(0x80000000), -1}; }

__device__ inline bool is_greater(KeyIndex a, KeyIndex b) {
  return a.key > b.key || (a.key == b.key && a.index < b.index);
}

// Returns the greatest pair of the warp to lane 0. All 32 lanes must call it.
__device__ inline KeyIndex warp_max_to_lane_0(KeyIndex best) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) {
    const KeyIndex other = {__shfl_down_sync(0xffffffff, best.key, offset),
                            __shfl_down_sync(0xffffffff, best.index, offset)};
    if (is_greater(other, best)) best = other;
  }
  return best;
}

// The greatest pair of kBlock threads, a multiple of 32, to thread 0. All must call it, with a barrier between calls.
template <int kBlock>
__device__ inline KeyIndex block_max_to_thread_0(KeyIndex best) {
  __shared__ KeyIndex warps[kBlock / 32];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  best = warp_max_to_lane_0(best);
  if (lane == 0) warps[warp] = best;
  __syncthreads();
  if (warp != 0) return no_element();
  return warp_max_to_lane_0(lane < kBlock / 32 ? warps[lane] : no_element());
}
