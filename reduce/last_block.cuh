// How the last block of a launch learns that it is the last, as step 10 of `sum` introduces it; for steps whose idea is
// another.
#pragma once
#include "cuda_helpers.cuh"

static __device__ unsigned blocks_done;  // tickets drawn in this launch; 0 between launches

// Stores the block's partial result, which thread 0 holds, in partials[blockIdx.x]. Returns true to all threads of the
// block that finishes last, which may then read all partial results: with __ldcg, as L1 is not coherent.
// All threads of all blocks must call it, once; it contains a __syncthreads(). Two launches must not overlap, for they
// would share blocks_done.
template <typename T>
__device__ inline bool is_last_block(T* partials, T partial) {
  __shared__ bool last;
  if (threadIdx.x == 0) {
    partials[blockIdx.x] = partial;
    __threadfence();  // whoever sees the ticket sees the partial result
    last = atomicInc(&blocks_done, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last) return false;
  __threadfence();  // the ticket was seen before the partial results are read
  return true;
}
