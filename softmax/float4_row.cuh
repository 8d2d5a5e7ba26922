// Four elements at a time, of a row or of the one vector, and what to do at its end: what the steps that keep x on the
// chip have in common (row_softmax 06 to 08, col_softmax 04, softmax 04 and 05; row_softmax 09 has loads and stores of
// its own).
//
// `vector` says how a thread's four elements lie. true: neighbours, x[j] to x[j + 3]; x + j is a multiple of 16 bytes,
// and `end` a multiple of 4, so that all four exist or none. false: x[j], x[j + apart], x[j + 2 apart] and x[j + 3
// apart], for rows that are not aligned; with `apart` the number of threads side by side these loads are coalesced too.
// `streaming` marks what vector accesses touch as first to leave L2 (__ldcs, __stcs).
#pragma once
#include "online.cuh"

constexpr bool kStreaming = true;

// -inf for those from x[end] on, which neither a maximum nor a sum of exps notices.
template <bool vector, bool streaming = false>
__device__ inline float4 load4(const float* x, std::size_t j, std::size_t end, std::size_t apart) {
  const auto at = [&](std::size_t i) { return i < end ? x[i] : -INFINITY; };
  if constexpr (!vector) return {at(j), at(j + apart), at(j + 2 * apart), at(j + 3 * apart)};
  const auto p = [&] { return reinterpret_cast<const float4*>(x + j); };
  const float none = -INFINITY;
  return j < end ? (streaming ? __ldcs(p()) : *p()) : float4{none, none, none, none};
}

// Nothing from y[end] on. An assignment may be compiled to four stores, each as soon as its part of v is known; __stcs
// is one instruction and stays one.
template <bool vector, bool streaming = false>
__device__ inline void store4(float* y, std::size_t j, std::size_t end, std::size_t apart, float4 v) {
  const auto put = [&](std::size_t i, float value) {
    if (i < end) y[i] = value;
  };
  if constexpr (vector) {
    if (j < end) {
      if constexpr (streaming) {
        __stcs(reinterpret_cast<float4*>(y + j), v);
      } else {
        *reinterpret_cast<float4*>(y + j) = v;
      }
    }
  } else {
    put(j, v.x), put(j + apart, v.y), put(j + 2 * apart, v.z), put(j + 3 * apart, v.w);
  }
}

__device__ inline float max4(float4 v) { return fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w)); }
__device__ inline float sum4(float4 v) { return (v.x + v.y) + (v.z + v.w); }

// exp(v - shift) factor. For a sum `shift` is what shift_for() says; for results it is the maximum itself, as -inf minus
// -inf gives the NaN that a vector of nothing else must become.
__device__ inline float4 exp4(float4 v, float shift, float factor = 1.0f) {
  return {expf(v.x - shift) * factor, expf(v.y - shift) * factor, expf(v.z - shift) * factor,
          expf(v.w - shift) * factor};
}

// The pair that stands for four elements.
__device__ inline MaxSum pair_of(float4 v) {
  const float max = max4(v);
  return {max, sum4(exp4(v, shift_for(max)))};
}
