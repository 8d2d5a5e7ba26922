// Four neighbouring elements of a vector at a time, for the steps of `compact` from 05 on.
#pragma once
#include "compact.cuh"
#include "../scan_tile.cuh"

// How many of the four are kept.
__device__ inline unsigned count4(float4 v) { return (v.x > 0.0f) + (v.y > 0.0f) + (v.z > 0.0f) + (v.w > 0.0f); }

// Stores those that are kept, from `to` on.
__device__ inline void keep4(float* to, float4 v) {
  if (v.x > 0.0f) *to++ = v.x;
  if (v.y > 0.0f) *to++ = v.y;
  if (v.z > 0.0f) *to++ = v.z;
  if (v.w > 0.0f) *to = v.w;
}
