// For attention from step 07 on, and attention_bf16: accesses by float4, and the scale of the scores.
#pragma once
#include <cuda_runtime.h>

// p as the first of four floats; its address must be a multiple of 16 bytes.
__device__ inline float4& as4(float& p) { return reinterpret_cast<float4&>(p); }
__device__ inline const float4& as4(const float& p) { return reinterpret_cast<const float4&>(p); }
// Four floats; !kAligned: at any address.
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

// log2(e) / sqrt(D): exp(s / sqrt(D)) is exp2 of it times s.
template <int D>
constexpr float kScoreScale = static_cast<float>(1.4426950408889634 / (D == 64 ? 8.0 : 11.313708498984761));
