// Counts and stores kept elements, four neighbours at a time, for steps 05 to 08 of `compact`.
#pragma once
#include "compact.cuh"
#include "../scan_tile.cuh"

// Returns how many of the four are kept.
__device__ inline unsigned count4(float4 v) { return (v.x > 0.0f) + (v.y > 0.0f) + (v.z > 0.0f) + (v.w > 0.0f); }

// Stores the kept elements to to[0], to[1], ...
__device__ inline void keep4(float* to, float4 v) {
  if (v.x > 0.0f) *to++ = v.x;
  if (v.y > 0.0f) *to++ = v.y;
  if (v.z > 0.0f) *to++ = v.z;
  if (v.w > 0.0f) *to = v.w;
}
