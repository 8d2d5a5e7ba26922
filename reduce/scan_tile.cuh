// Loads, stores, sums and scans four neighbouring elements of a vector, for `scan` and `compact`.
#pragma once
#include "ladder.cuh"

// Returns x[i] to x[i + 3], 0 past the end. aligned: x is 16-byte aligned, i a multiple of 4. kEvictFirst: by __ldcs.
template <bool kEvictFirst = false>
__device__ inline float4 load4(const float* __restrict__ x, std::size_t i, std::size_t n, bool aligned) {
  const float4* x4 = reinterpret_cast<const float4*>(x + i);
  if (aligned && i + 4 <= n) return kEvictFirst ? __ldcs(x4) : *x4;
  return {i < n ? x[i] : 0.0f, i + 1 < n ? x[i + 1] : 0.0f, i + 2 < n ? x[i + 2] : 0.0f, i + 3 < n ? x[i + 3] : 0.0f};
}

// Stores to out[i] to out[i + 3], nothing past the end.
template <bool kEvictFirst = false>
__device__ inline void store4(float* __restrict__ out, std::size_t i, std::size_t n, bool aligned, float4 v) {
  if (aligned && i + 4 <= n) {
    float4* out4 = reinterpret_cast<float4*>(out + i);
    kEvictFirst ? __stcs(out4, v) : void(*out4 = v);
    return;
  }
  if (i < n) out[i] = v.x;
  if (i + 1 < n) out[i + 1] = v.y;
  if (i + 2 < n) out[i + 2] = v.z;
  if (i + 3 < n) out[i + 3] = v.w;
}

__device__ inline float sum4(float4 v) { return (v.x + v.y) + (v.z + v.w); }

// Scans four elements; `before` is the sum of all elements before them.
__device__ inline float4 scan4(float4 v, float before, bool exclusive) {
  const float a = before + v.x, b = a + v.y, c = b + v.z;
  return exclusive ? float4{before, a, b, c} : float4{a, b, c, c + v.w};
}
