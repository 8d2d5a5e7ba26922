// A row of K or V has 128 BF16 elements: 16 lanes hold eight each, 16 bytes.
#pragma once
#include "bf16_chunks.cuh"

// Return the elements of a word as floats; the first is in its low half. BF16 is the upper half of a float.
__device__ inline float low(unsigned word) { return __uint_as_float(word << 16); }
__device__ inline float high(unsigned word) { return __uint_as_float(word & 0xffff0000u); }

// Loads eight elements. !kAligned: p may have any alignment.
template <bool kAligned>
__device__ uint4 load8(const __nv_bfloat16* p) {
  if constexpr (kAligned) return *reinterpret_cast<const uint4*>(p);
  return load_chunk_guarded(p, 8);
}

// x = scale * v
__device__ inline void scaled(float (&x)[8], float scale, const uint4& v) {
  const unsigned words[] = {v.x, v.y, v.z, v.w};
#pragma unroll
  for (int i = 0; i < 4; ++i) x[2 * i] = scale * low(words[i]), x[2 * i + 1] = scale * high(words[i]);
}
__device__ inline float dot(const float (&x)[8], const uint4& v) {
  const unsigned words[] = {v.x, v.y, v.z, v.w};
  float sum = 0.0f;
#pragma unroll
  for (int i = 0; i < 4; ++i) sum += x[2 * i] * low(words[i]) + x[2 * i + 1] * high(words[i]);
  return sum;
}
// x += weight * v
__device__ inline void add(float (&x)[8], float weight, const uint4& v) {
  const unsigned words[] = {v.x, v.y, v.z, v.w};
#pragma unroll
  for (int i = 0; i < 4; ++i) x[2 * i] += weight * low(words[i]), x[2 * i + 1] += weight * high(words[i]);
}
