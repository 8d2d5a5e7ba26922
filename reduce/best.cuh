// Pairs of a key and an index, for steps 01 and 02 of `argmax`: the greatest key wins, of equal ones the first index.
#pragma once
#include "argmax.cuh"
#include "block_reduce.cuh"

struct Best {
  int key;
  long long index;
};

// Ordered: ... < 0 < ... < infinity < NaN. The addition makes +0 of -0.
__device__ inline int argmax_key(float v) {
  const int bits = __float_as_int(v + 0.0f);
  return v != v ? 0x7fffffff : bits ^ (bits >> 31 & 0x7fffffff);
}
__device__ inline Best nothing() { return {static_cast<int>(0x80000000), -1}; }  // below the key of -infinity

// The better over the warp, in lane 0. All 32 lanes must call it.
__device__ inline Best warp_best(Best best) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) {
    const int key = __shfl_down_sync(0xffffffff, best.key, offset);
    const long long index = __shfl_down_sync(0xffffffff, best.index, offset);
    if (key > best.key || (key == best.key && index < best.index)) best = {key, index};
  }
  return best;
}

// The best over a block of kBlock threads, in thread 0: once (block_reduce.cuh).
template <int kBlock>
__device__ inline Best block_best_once(Best best) {
  return block_reduce_once<kBlock>(best, nothing(), [](Best b) { return warp_best(b); });
}
