// Loads and stores four neighbouring cells of a row. kAligned: the row is 16-byte aligned, and its length and x are
// multiples of 4, so an access is one float4. Otherwise each cell inside [0, length) has an access of its own.
#pragma once
#include "ladder.cuh"

// Returns cells x to x + 3; cells outside the row are 0.
template <bool kAligned>
static __device__ float4 load4(const float* __restrict__ row, long long x, long long length) {
  if constexpr (kAligned) {
    return x >= 0 && x < length ? *reinterpret_cast<const float4*>(row + x) : make_float4(0, 0, 0, 0);
  } else {
    float v[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) v[k] = x + k >= 0 && x + k < length ? row[x + k] : 0.0f;
    return make_float4(v[0], v[1], v[2], v[3]);
  }
}

// Stores cells x to x + 3, those inside the row. x must not be negative.
template <bool kAligned>
static __device__ void store4(float* __restrict__ row, long long x, long long length, float4 v) {
  if (kAligned) {
    if (x < length) *reinterpret_cast<float4*>(row + x) = v;
    return;
  }
  const float cell[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    if (x + k < length) row[x + k] = cell[k];
  }
}
