// Sums over a warp and a block by shuffles, as step 07 of `sum` introduces them; for steps of all families whose idea
// is another.
#pragma once
#include "cuda_helpers.cuh"

// The sum over the warp, in lane 0. All 32 lanes must call it.
__device__ inline float warp_sum(float v) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) v += __shfl_down_sync(0xffffffff, v, offset);
  return v;
}

// The sum over a block of kBlock threads, a multiple of 32, in thread 0. All of them must call it, and once only: a
// second call would write warp_sums while warp 0 may still read it.
template <int kBlock>
__device__ inline float block_sum_once(float v) {
  __shared__ float warp_sums[kBlock / 32];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  v = warp_sum(v);
  if (lane == 0) warp_sums[warp] = v;
  __syncthreads();
  return warp == 0 ? warp_sum(lane < kBlock / 32 ? warp_sums[lane] : 0.0f) : 0.0f;
}

// The same, as often as one likes.
template <int kBlock>
__device__ inline float block_sum(float v) {
  __syncthreads();  // warp_sums may still be read from the call before
  return block_sum_once<kBlock>(v);
}
