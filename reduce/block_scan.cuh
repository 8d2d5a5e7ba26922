// Scans over a warp and over a block by shuffles, introduced by step 05 of `scan`.
#pragma once
#include "cuda_helpers.cuh"

// Returns the inclusive scan over the warp. All 32 lanes must call it.
template <typename T>
__device__ inline T warp_scan(T sum) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int offset = 1; offset < 32; offset *= 2) {
    const T left = __shfl_up_sync(0xffffffff, sum, offset);
    if (lane >= offset) sum += left;
  }
  return sum;
}

template <typename T>
struct BlockScan {
  T before;  // sum of v over the threads with smaller numbers
  T total;   // sum of v over the block
};

// Exclusive scan over kBlock threads, a multiple of 32. All must call it, with a barrier between two calls.
template <int kBlock, typename T>
__device__ inline BlockScan<T> block_scan(T v) {
  constexpr int kWarps = kBlock / 32;
  __shared__ T warp_sums[kWarps];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const T sum = warp_scan(v);
  if (lane == 31) warp_sums[warp] = sum;
  __syncthreads();
  // each warp scans the warps' sums itself, which saves a second barrier
  const T sums = warp_scan(lane < kWarps ? warp_sums[lane] : T{0});
  const T before_warp = __shfl_sync(0xffffffff, sums, warp > 0 ? warp - 1 : 0);
  const T left = __shfl_up_sync(0xffffffff, sum, 1);
  return {(warp > 0 ? before_warp : T{0}) + (lane > 0 ? left : T{0}), __shfl_sync(0xffffffff, sums, 31)};
}
