// A row of an int8 cache has 128 bytes: 16 lanes hold eight each.
#pragma once
#include "eight_columns.cuh"

#include <cstdint>

// Loads eight bytes. !kAligned: p may have any alignment.
template <bool kAligned>
__device__ uint2 load8(const std::int8_t* p) {
  if constexpr (kAligned) return *reinterpret_cast<const uint2*>(p);
  unsigned words[2] = {};
#pragma unroll
  for (int i = 0; i < 8; ++i) words[i / 4] |= static_cast<unsigned>(static_cast<std::uint8_t>(p[i])) << i % 4 * 8;
  return {words[0], words[1]};
}

// Converts bytes to floats without I2F: a byte with its sign bit flipped, as last byte of 2^23, is 2^23 + 128 + byte.
__device__ inline void to_floats(float (&x)[8], uint2 v) {
  const unsigned words[] = {v.x ^ 0x80808080u, v.y ^ 0x80808080u};
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    x[i] = __uint_as_float(__byte_perm(words[i / 4], 0x4b000000u, 0x7440 + i % 4)) - 8388736.0f;
  }
}
__device__ inline float dot(const float (&x)[8], const float (&y)[8]) {
  float sum = 0.0f;
#pragma unroll
  for (int i = 0; i < 8; ++i) sum += x[i] * y[i];
  return sum;
}
