// Sums over a warp and over a block by shuffles, as step 08 of `sum` introduces them, for steps whose idea is another.
#pragma once
#include "cuda_helpers.cuh"

// Sum over the warp, returned to lane 0. All 32 lanes must call it.
__device__ inline float warp_sum(float v) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) v += __shfl_down_sync(0xffffffff, v, offset);
  return v;
}

// Sum over a block of kBlock threads, a multiple of 32, returned to thread 0. All threads must call it.
// Every call uses the same shared memory: a __syncthreads() is needed between two calls.
template <int kBlock>
__device__ inline float block_sum(float v) {
  __shared__ float warp_sums[kBlock / 32];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  v = warp_sum(v);
  if (lane == 0) warp_sums[warp] = v;
  __syncthreads();
  if (warp != 0) return 0.0f;
  return warp_sum(lane < kBlock / 32 ? warp_sums[lane] : 0.0f);
}
