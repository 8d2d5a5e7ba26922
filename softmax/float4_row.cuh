// Loads and stores of four elements per thread, with bounds checks at the end of a row, as in row_softmax_06.
// kAligned: the four are x[j] to x[j + 3]; x + j is 16-byte aligned and `end` a multiple of 4, so all exist or none.
// Otherwise they are x[j], x[j + stride] to x[j + 3 stride]; `stride` neighbouring threads make these coalesced too.
// kEvictFirst: float4 accesses are evict-first (__ldcs, __stcs).
#pragma once
#include "online_softmax.cuh"

constexpr bool kEvictFirst = true;

// Loads four elements, and -inf for those from x[end] on, which changes neither a maximum nor a sum of exponentials.
template <bool kAligned, bool kEvict = false>
__device__ inline float4 load4(const float* x, std::size_t j, std::size_t end, std::size_t stride) {
  const auto at = [&](std::size_t i) { return i < end ? x[i] : -INFINITY; };
  if constexpr (!kAligned) return {at(j), at(j + stride), at(j + 2 * stride), at(j + 3 * stride)};
  const auto p = [&] { return reinterpret_cast<const float4*>(x + j); };
  const float none = -INFINITY;
  return j < end ? (kEvict ? __ldcs(p()) : *p()) : float4{none, none, none, none};
}

// Stores the elements before y[end]. The compiler may split an assignment into four stores, each issued as soon as its
// part of v is known; __stcs always stays one instruction.
template <bool kAligned, bool kEvict = false>
__device__ inline void store4(float* y, std::size_t j, std::size_t end, std::size_t stride, float4 v) {
  const auto put = [&](std::size_t i, float value) {
    if (i < end) y[i] = value;
  };
  if constexpr (kAligned) {
    if (j < end) {
      if constexpr (kEvict) {
        __stcs(reinterpret_cast<float4*>(y + j), v);
      } else {
        *reinterpret_cast<float4*>(y + j) = v;
      }
    }
  } else {
    put(j, v.x), put(j + stride, v.y), put(j + 2 * stride, v.z), put(j + 3 * stride, v.w);
  }
}

__device__ inline float max4(float4 v) { return fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w)); }
__device__ inline float sum4(float4 v) { return (v.x + v.y) + (v.z + v.w); }

// Returns exp(v - shift) * factor. shift: shift_for(max) for a sum; max for results, where all -inf must give NaN.
__device__ inline float4 exp4(float4 v, float shift, float factor = 1.0f) {
  return {expf(v.x - shift) * factor, expf(v.y - shift) * factor, expf(v.z - shift) * factor,
          expf(v.w - shift) * factor};
}

// Returns the pair (max, sum) of four elements.
__device__ inline MaxSum pair_of(float4 v) {
  const float max = max4(v);
  return {max, sum4(exp4(v, shift_for(max)))};
}
