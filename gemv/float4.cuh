// float4 arithmetic and loads.
#pragma once
#include "cuda_helpers.cuh"

__device__ inline float dot4(float4 a, float4 x) { return (a.x * x.x + a.y * x.y) + (a.z * x.z + a.w * x.w); }

// Loads 16 bytes from p, which must be 16-byte aligned. kEvictFirst: with __ldcs.
template <bool kEvictFirst>
__device__ inline float4 load4(const float* p) {
  const float4* p4 = reinterpret_cast<const float4*>(p);
  return kEvictFirst ? __ldcs(p4) : *p4;
}
