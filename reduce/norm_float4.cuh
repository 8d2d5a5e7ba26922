// Loads, stores and sums of four elements of a row per thread, for the norms' float4 steps. kAligned: the four are p[j]
// to p[j + 3], p + j is 16-byte aligned and `end` a multiple of 4, so all four exist or none. Otherwise they are
// kStride apart, starting at p[j]: with kStride neighbouring threads, accesses are coalesced at any alignment.
#pragma once
#include "ladder.cuh"

// Elements from p[end] on are 0.
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

// Returns the sum of (v - mean)^2 over those of the four before `end`. Padding must not count: 0 - mean is not 0.
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
