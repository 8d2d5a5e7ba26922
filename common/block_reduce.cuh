// Reductions over a warp and a block by shuffles, as step 07 of `sum` introduces them; for steps of all families whose
// idea is another.
#pragma once
#include "cuda_helpers.cuh"

// Reduces the values of a block of kBlock threads, a multiple of 32, in thread 0. warp_op(v) does so over a warp, in
// lane 0; `identity` is what changes nothing. All threads must call it, and once only: a second call would write
// `warps` while warp 0 may still read it.
template <int kBlock, class T, class WarpOp>
__device__ inline T block_reduce_once(T v, T identity, WarpOp warp_op) {
  __shared__ T warps[kBlock / 32];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  v = warp_op(v);
  if (lane == 0) warps[warp] = v;
  __syncthreads();
  return warp == 0 ? warp_op(lane < kBlock / 32 ? warps[lane] : identity) : identity;
}

// The same, as often as one likes.
template <int kBlock, class T, class WarpOp>
__device__ inline T block_reduce(T v, T identity, WarpOp warp_op) {
  __syncthreads();  // `warps` may still be read from the call before
  return block_reduce_once<kBlock>(v, identity, warp_op);
}

// The sum over the warp, in lane 0. All 32 lanes must call it.
__device__ inline float warp_sum(float v) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) v += __shfl_down_sync(0xffffffff, v, offset);
  return v;
}

// The sum over the block, in thread 0.
template <int kBlock>
__device__ inline float block_sum_once(float v) {
  return block_reduce_once<kBlock>(v, 0.0f, [](float u) { return warp_sum(u); });
}
template <int kBlock>
__device__ inline float block_sum(float v) {
  return block_reduce<kBlock>(v, 0.0f, [](float u) { return warp_sum(u); });
}
