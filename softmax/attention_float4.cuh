// float4 accesses and the scale of the scores, for the attention kernels.
#pragma once
#include <cuda_runtime.h>

// Return the four floats from p on as a float4. p must be 16-byte aligned.
__device__ inline float4& as4(float& p) { return reinterpret_cast<float4&>(p); }
__device__ inline const float4& as4(const float& p) { return reinterpret_cast<const float4&>(p); }
// Load and store four floats at p. !kAligned: p may have any alignment.
template <bool kAligned>
__device__ float4 load4(const float* p) {
  if constexpr (kAligned) return as4(*p);
  return {p[0], p[1], p[2], p[3]};
}
template <bool kAligned>
__device__ void store4(float* p, float4 v) {
  if constexpr (kAligned) {
    as4(*p) = v;
  } else {
    p[0] = v.x, p[1] = v.y, p[2] = v.z, p[3] = v.w;
  }
}

// log2(e) / sqrt(D), because exp(s / sqrt(D)) = exp2(kScoreScale<D> * s).
template <int D>
constexpr float kScoreScale = static_cast<float>(1.4426950408889634 / (D == 64 ? 8.0 : 11.313708498984761));
