// Tells the last block of a launch that all other blocks are done, as step 11 of `sum` introduces it.
#pragma once
#include "cuda_helpers.cuh"

static __device__ unsigned blocks_done;  // blocks that have finished in this launch; 0 between launches

// Stores thread 0's partial result in partials[blockIdx.x]. Returns true to all threads of the block that finishes
// last, which may then read all partial results. All threads of all blocks must call it exactly once. It contains a
// __syncthreads(). Launches must not overlap, because they share the counter.
template <typename T>
__device__ inline bool is_last_block(T* partials, T partial) {
  __shared__ bool last;
  if (threadIdx.x == 0) {
    partials[blockIdx.x] = partial;
    __threadfence();  // a block that sees the count sees the partial result
    last = atomicInc(&blocks_done, gridDim.x - 1) == gridDim.x - 1;  // wraps to 0 for the next launch
  }
  __syncthreads();
  if (!last) return false;
  __threadfence();  // orders the reads of the partial results after the count
  return true;
}

// Calls combine(partials[b], b) for all b < count, in a fixed order per thread. All threads of the last block must call
// it. 16 loads are in flight per thread; with the compiler's 4, 65536 partial results took about 10 us.
template <int kBlock, typename T, typename Combine>
__device__ inline void combine_partials(const T* partials, unsigned count, Combine combine) {
  constexpr unsigned kAtOnce = 16;
  for (unsigned first = threadIdx.x; first < count; first += kAtOnce * kBlock) {
    T v[kAtOnce];
#pragma unroll
    for (unsigned k = 0; k < kAtOnce; ++k) {
      if (first + k * kBlock < count) v[k] = __ldcg(partials + first + k * kBlock);
    }
#pragma unroll
    for (unsigned k = 0; k < kAtOnce; ++k) {
      if (first + k * kBlock < count) combine(v[k], first + k * kBlock);
    }
  }
}
