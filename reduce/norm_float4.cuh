// Four elements of a row per thread and access, and the end of a row, for the norms' steps with float4.
// kAligned: the four are p[j] to p[j + 3]; p + j is a multiple of 16 bytes and `end` one of 4, so all four exist or
// none. Else they are kStride apart from p[j] on: coalesced for rows of any alignment, if kStride threads work side by
// side.
#pragma once
#include "ladder.cuh"

// 0 in the place of elements from p[end] on.
template <bool kAligned, unsigned kStride>
__device__ inline float4 load4(const float* p, unsigned j, unsigned end) {
  const auto at = [&](unsigned i) { return i < end ? p[i] : 0.0f; };
  if constexpr (!kAligned) return {at(j), at(j + kStride), at(j + 2 * kStride), at(j + 3 * kStride)};
  return j < end ? *reinterpret_cast<const float4*>(p + j) : float4{0.0f, 0.0f, 0.0f, 0.0f};
}

// Stores nothing from p[end] on.
template <bool kAligned, unsigned kStride>
__device__ inline void store4(float* p, unsigned j, unsigned end, float4 v) {
  const auto put = [&](unsigned i, float value) {
    if (i < end) p[i] = value;
  };
  if constexpr (kAligned) {
    if (j < end) *reinterpret_cast<float4*>(p + j) = v;
  } else {
    put(j, v.x), put(j + kStride, v.y), put(j + 2 * kStride, v.z), put(j + 3 * kStride, v.w);
  }
}

__device__ inline float sum4(float4 v) { return (v.x + v.y) + (v.z + v.w); }

// The sum of (v - mean)^2 over those of the four that are before `end`: a 0 in an element's place is not at the mean.
template <bool kAligned, unsigned kStride>
__device__ inline float squares4(float4 v, float mean, unsigned j, unsigned end) {
  const auto square = [&](float value, unsigned i) { return i < end ? (value - mean) * (value - mean) : 0.0f; };
  constexpr unsigned step = kAligned ? 0 : kStride;
  return (square(v.x, j) + square(v.y, j + step)) + (square(v.z, j + 2 * step) + square(v.w, j + 3 * step));
}

// (v - mean) * factor * gamma + beta
__device__ inline float4 normalise4(float4 v, float mean, float factor, float4 gamma, float4 beta) {
  return {(v.x - mean) * factor * gamma.x + beta.x, (v.y - mean) * factor * gamma.y + beta.y,
          (v.z - mean) * factor * gamma.z + beta.z, (v.w - mean) * factor * gamma.w + beta.w};
}

__device__ inline float4 add4(float4 a, float4 b) { return {a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w}; }
__device__ inline float dot4(float4 a, float4 b) { return (a.x * b.x + a.y * b.y) + (a.z * b.z + a.w * b.w); }

// v * factor * gamma
__device__ inline float4 scale4(float4 v, float factor, float4 gamma) {
  return {v.x * factor * gamma.x, v.y * factor * gamma.y, v.z * factor * gamma.z, v.w * factor * gamma.w};
}
