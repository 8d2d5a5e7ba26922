// Sums over a warp and over a block by shuffles. Step 08 of `sum` introduces them.
//
// In all headers a reduction's name says which threads get the result: ..._to_lane_0, ..._to_thread_0, ..._to_all.
// Other threads' return values are undefined. All threads of the warp or block must call it. Block reductions use
// shared memory: ..._to_thread_0 needs a __syncthreads() between two calls; ..._to_all contains one.
#pragma once
#include "cuda_helpers.cuh"

__device__ inline float warp_sum_to_lane_0(float v) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) v += __shfl_down_sync(0xffffffff, v, offset);
  return v;
}

// kBlock: threads per block, a multiple of 32.
template <int kBlock>
__device__ inline float block_sum_to_thread_0(float v) {
  __shared__ float warp_sums[kBlock / 32];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  v = warp_sum_to_lane_0(v);
  if (lane == 0) warp_sums[warp] = v;
  __syncthreads();
  if (warp != 0) return 0.0f;
  return warp_sum_to_lane_0(lane < kBlock / 32 ? warp_sums[lane] : 0.0f);
}
