// FP8 in the format e4m3: a sign, 4 bits of exponent with bias 7, 3 bits of mantissa. The largest number is 448; below
// 2^-6 numbers are subnormal, multiples of 2^-9. There is no infinity, and NaN has all 7 bits set.
#pragma once
#include <cuda_runtime.h>

#include <cstdint>
#include <cstring>

// Returns the number, exactly. A float has the same fields with bias 127: shifted there, they are 2^-120 of the number.
__host__ __device__ inline float from_e4m3(std::uint8_t bits) {
  const unsigned magnitude = bits & 0x7fu, sign = bits & 0x80u;
  const unsigned moved = sign << 24 | (magnitude == 0x7f ? 0x7fc00000 : magnitude << 20);
  float small;
  std::memcpy(&small, &moved, sizeof small);
  return small * 0x1p120f;
}
