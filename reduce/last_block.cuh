// How the last block of a launch learns that it is the last, as sum 11 introduces it.
#pragma once
#include "cuda_helpers.cuh"

static __device__ unsigned blocks_done;  // tickets drawn in this launch; 0 between launches

// Stores thread 0's partial result in partials[blockIdx.x]. Returns true to all threads of the block that finishes
// last, which may then read all partial results. All threads of all blocks must call it, once; it contains a
// __syncthreads(). Launches must not overlap: they would share the counter.
template <typename T>
__device__ inline bool is_last_block(T* partials, T partial) {
  __shared__ bool last;
  if (threadIdx.x == 0) {
    partials[blockIdx.x] = partial;
    __threadfence();                                                 // whoever sees the ticket sees the partial result
    last = atomicInc(&blocks_done, gridDim.x - 1) == gridDim.x - 1;  // wraps to 0 for the next launch
  }
  __syncthreads();
  if (!last) return false;
  __threadfence();  // the ticket was seen before the partial results are read
  return true;
}

// For the last block: calls combine(partials[b], b) for all b < count, each thread for its share and in a fixed order.
// 16 loads are in flight per thread; with the compiler's 4, 65536 partial results took 1024 threads some 10 us.
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
