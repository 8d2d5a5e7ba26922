// Operations on a thread's four columns: a float4 holds one row, their maxima or their sums. For step 04 and any_shape.
#pragma once
#include "../float4_row.cuh"

__device__ inline float4 maximum(float4 a, float4 b) {
  return {fmaxf(a.x, b.x), fmaxf(a.y, b.y), fmaxf(a.z, b.z), fmaxf(a.w, b.w)};
}
__device__ inline float4 add(float4 a, float4 b) { return {a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w}; }
__device__ inline float4 multiply(float4 a, float4 b) { return {a.x * b.x, a.y * b.y, a.z * b.z, a.w * b.w}; }
// Returns exp(v - max), each column with its own maximum.
__device__ inline float4 exp_below(float4 v, float4 max) {
  return {expf(v.x - shift_for(max.x)), expf(v.y - shift_for(max.y)), expf(v.z - shift_for(max.z)),
          expf(v.w - shift_for(max.w))};
}

// Returns the maximum or sum over the lanes with the same columns to each of them. All 32 lanes must call it.
template <unsigned kLanes, float4 (*kOp)(float4, float4)>
__device__ inline float4 over_lanes(float4 v) {
#pragma unroll
  for (unsigned offset = 16; offset >= kLanes; offset /= 2) {
    const auto other = [&](float own) { return __shfl_xor_sync(0xffffffff, own, offset); };
    v = kOp(v, {other(v.x), other(v.y), other(v.z), other(v.w)});
  }
  return v;
}

// Writes the pairs (max, sum) of the thread's columns c + i * stride, i = 0..3, to row[].
__device__ inline void put4(MaxSum* row, unsigned c, unsigned stride, const float4& max, const float4& sum) {
  MaxSum* const to = &row[c];
  to[0] = {max.x, sum.x}, to[stride] = {max.y, sum.y}, to[2 * stride] = {max.z, sum.z}, to[3 * stride] = {max.w, sum.w};
}
// Returns the factors that turn exp_below(v, max) into results.
__device__ inline float4 factor4(const float4& max, const MaxSum* totals, unsigned c, unsigned stride) {
  const auto factor = [&](float max, MaxSum total) { return expf(max - total.max) / total.sum; };
  return {factor(max.x, totals[c]), factor(max.y, totals[c + stride]), factor(max.z, totals[c + 2 * stride]),
          factor(max.w, totals[c + 3 * stride])};
}
