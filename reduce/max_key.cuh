// Floats as integers in the order that `max` wants, where the greatest of two is one instruction and NaN is not lost;
// for steps 03 to 05.
#pragma once
#include "block_reduce.cuh"
#include "max.cuh"

// ... < -0 < +0 < ... < infinity < NaN. value_of(key_of(v)) is v, or NaN.
__device__ inline int key_of(float v) {
  const int bits = __float_as_int(v);
  return v != v ? 0x7fffffff : bits ^ (bits >> 31 & 0x7fffffff);
}
__device__ inline int key_of(float4 v) { return max(max(key_of(v.x), key_of(v.y)), max(key_of(v.z), key_of(v.w))); }
__device__ inline float value_of(int key) { return __int_as_float(key ^ (key >> 31 & 0x7fffffff)); }
constexpr int kMinusInfinity = static_cast<int>(0x807fffff);  // its key

// The greatest over the warp, in lane 0. All 32 lanes must call it.
__device__ inline int warp_max(int key) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) key = max(key, __shfl_down_sync(0xffffffff, key, offset));
  return key;
}

// The greatest over a block of kBlock threads, in thread 0: once, or as often as one likes (block_reduce.cuh).
template <int kBlock>
__device__ inline int block_max_once(int key) {
  return block_reduce_once<kBlock>(key, kMinusInfinity, [](int k) { return warp_max(k); });
}
template <int kBlock>
__device__ inline int block_max(int key) {
  return block_reduce<kBlock>(key, kMinusInfinity, [](int k) { return warp_max(k); });
}
