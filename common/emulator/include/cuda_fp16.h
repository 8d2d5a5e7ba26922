// Half precision on the CPU: storage, conversions and the arithmetic of one operation, rounded to the nearest half,
// ties to even, as a GPU rounds.
#pragma once

#include <cstdint>
#include <cstring>

#include "cuda_emu/vector_types.hpp"

namespace cuda_emu {

inline unsigned short half_from_float(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  const unsigned sign = bits >> 16 & 0x8000;
  bits &= 0x7fffffff;
  if (bits > 0x7f800000) return 0x7fff;                                       // NaN
  if (bits >= 0x477ff000) return static_cast<unsigned short>(sign | 0x7c00);  // from 65520 on: infinity
  if (bits < 0x33000000) return static_cast<unsigned short>(sign);            // below 2^-25: zero
  const int exponent = static_cast<int>(bits >> 23) - 127;                    // -25 to 15
  const std::uint32_t significand = (bits & 0x7fffff) | 0x800000;             // 24 bits
  const int drop = exponent < -14 ? 13 + (-14 - exponent) : 13;               // bits that a half has no room for
  const std::uint32_t kept = significand >> drop, rest = significand & ((1u << drop) - 1), tie = 1u << (drop - 1);
  const std::uint32_t rounded = kept + (rest > tie || (rest == tie && kept % 2 == 1));
  // Added, not or-ed: the significand's leading one raises the exponent, and so does a carry.
  const std::uint32_t below = exponent < -14 ? 0 : static_cast<std::uint32_t>(exponent + 14) << 10;
  return static_cast<unsigned short>(sign | (below + rounded));
}

inline float float_from_half(unsigned short half) {
  const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000) << 16;
  const std::uint32_t exponent = half >> 10 & 0x1f, fraction = half & 0x3ff;
  float magnitude;
  if (exponent == 0) {
    magnitude = static_cast<float>(fraction) / (1 << 24);  // exact
  } else {
    const std::uint32_t bits = (exponent == 31 ? 0x7f800000 : (exponent + 112) << 23) | fraction << 13;
    std::memcpy(&magnitude, &bits, sizeof magnitude);
  }
  std::uint32_t bits;
  std::memcpy(&bits, &magnitude, sizeof bits);
  bits |= sign;
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

}  // namespace cuda_emu

struct __half {
  unsigned short bits;

  __half() = default;
  __half(float value) : bits(cuda_emu::half_from_float(value)) {}
  operator float() const { return cuda_emu::float_from_half(bits); }
};
struct alignas(4) __half2 {
  __half x, y;

  __half2() = default;
  __half2(const __half& low, const __half& high) : x(low), y(high) {}
};
using half = __half;
using half2 = __half2;

// Conversions
inline __half __float2half(float value) { return __half(value); }
inline __half __float2half_rn(float value) { return __half(value); }
inline float __half2float(__half value) { return value; }
inline __half __ushort_as_half(unsigned short bits) {
  __half value;
  value.bits = bits;
  return value;
}
inline unsigned short __half_as_ushort(__half value) { return value.bits; }

inline __half2 __halves2half2(__half low, __half high) { return {low, high}; }
inline __half2 __half2half2(__half value) { return {value, value}; }
inline __half __low2half(__half2 value) { return value.x; }
inline __half __high2half(__half2 value) { return value.y; }
inline __half2 __floats2half2_rn(float low, float high) { return {__half(low), __half(high)}; }
inline __half2 __float22half2_rn(float2 value) { return {__half(value.x), __half(value.y)}; }
inline float2 __half22float2(__half2 value) { return {value.x, value.y}; }

// Arithmetic. A float has 24 bits, at least 2 * 11 + 2: to round first to float and then to half gives the same as to
// round once (Figueroa, SIGNUM Newsletter 30, 1995).
inline __half __hadd(__half a, __half b) { return __half(static_cast<float>(a) + static_cast<float>(b)); }
inline __half __hsub(__half a, __half b) { return __half(static_cast<float>(a) - static_cast<float>(b)); }
inline __half __hmul(__half a, __half b) { return __half(static_cast<float>(a) * static_cast<float>(b)); }
inline __half2 __hadd2(__half2 a, __half2 b) { return {__hadd(a.x, b.x), __hadd(a.y, b.y)}; }
inline __half2 __hsub2(__half2 a, __half2 b) { return {__hsub(a.x, b.x), __hsub(a.y, b.y)}; }
inline __half2 __hmul2(__half2 a, __half2 b) { return {__hmul(a.x, b.x), __hmul(a.y, b.y)}; }
