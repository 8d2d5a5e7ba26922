// Maps floats to ints in the order of `max`, so that one integer maximum compares them and keeps NaN.
#pragma once
#include "max.cuh"

// ... < -0 < +0 < ... < infinity < NaN. value_of(key_of(v)) is v, or a NaN for a NaN.
__device__ inline int key_of(float v) {
  const int bits = __float_as_int(v);
  return v != v ? 0x7fffffff : bits ^ (bits >> 31 & 0x7fffffff);
}
__device__ inline int key_of(float4 v) { return max(max(key_of(v.x), key_of(v.y)), max(key_of(v.z), key_of(v.w))); }
__device__ inline float value_of(int key) { return __int_as_float(key ^ (key >> 31 & 0x7fffffff)); }
constexpr int kMinusInfinity = static_cast<int>(0x807fffff);  // key_of(-infinity), the identity of max

// Returns the greatest key of the warp to lane 0. All 32 lanes must call it.
__device__ inline int warp_max_to_lane_0(int key) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) key = max(key, __shfl_down_sync(0xffffffff, key, offset));
  return key;
}

// The greatest key of kBlock threads, a multiple of 32, to thread 0. All must call it, with a barrier between calls.
template <int kBlock>
__device__ inline int block_max_to_thread_0(int key) {
  __shared__ int warp_keys[kBlock / 32];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  key = warp_max_to_lane_0(key);
  if (lane == 0) warp_keys[warp] = key;
  __syncthreads();
  if (warp != 0) return kMinusInfinity;
  return warp_max_to_lane_0(lane < kBlock / 32 ? warp_keys[lane] : kMinusInfinity);
}
