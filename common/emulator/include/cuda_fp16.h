// __half for the CPU backend.
#pragma once

#include <cstdint>
#include <cstring>

#include "cuda_emu/small_floats.hpp"

namespace cuda_emu {

inline unsigned short half_from_float(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  const unsigned sign = bits >> 16 & 0x8000;
  bits &= 0x7fffffff;
  if (bits > 0x7f800000) return 0x7fff;                                       // NaN
  if (bits >= 0x477ff000) return static_cast<unsigned short>(sign | 0x7c00);  // 65520 and above: infinity
  if (bits < 0x33000000) return static_cast<unsigned short>(sign);            // below 2^-25: zero
  const int exponent = static_cast<int>(bits >> 23) - 127;                    // -25 to 15
  const std::uint32_t significand = (bits & 0x7fffff) | 0x800000;             // 24 bits
  const int drop = exponent < -14 ? 13 + (-14 - exponent) : 13;               // bits that a half cannot hold
  const std::uint32_t kept = significand >> drop, rest = significand & ((1u << drop) - 1), tie = 1u << (drop - 1);
  const std::uint32_t rounded = kept + (rest > tie || (rest == tie && kept % 2 == 1));
  // Added, not or-ed: the significand's leading one increments the exponent, as a carry does.
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

struct __half_raw {
  unsigned short x;
};
struct __half {
  unsigned short bits;

  __half() = default;
  __half(float value) : bits(cuda_emu::half_from_float(value)) {}
  __half(double value) : __half(cuda_emu::round_to(value, 11, -14)) {}
  template <class Integer, class = std::enable_if_t<std::is_integral<Integer>::value>>
  __half(Integer value) : __half(static_cast<double>(value)) {}
  __half(__half_raw raw) : bits(raw.x) {}
  operator float() const { return cuda_emu::float_from_half(bits); }
  operator __half_raw() const { return {bits}; }
};
struct alignas(4) __half2 {
  __half x, y;

  __half2() = default;
  __half2(const __half& low, const __half& high) : x(low), y(high) {}
};
using half = __half;
using half2 = __half2;
using __nv_half = __half;
using __nv_half2 = __half2;

template <>
struct cuda_emu::SmallFloat<__half> {
  static __half from_double(double value) { return __half(value); }
};
CUDA_EMU_SMALL_FLOAT(__half, __half2)

// Conversions
inline __half __float2half(float value) { return __half(value); }
inline __half __float2half_rn(float value) { return __half(value); }
inline __half __double2half(double value) { return __half(value); }
inline float __half2float(__half value) { return value; }
inline __half __int2half_rn(int value) { return __half(value); }
inline __half __uint2half_rn(unsigned value) { return __half(value); }
inline __half __short2half_rn(short value) { return __half(value); }
inline __half __ushort2half_rn(unsigned short value) { return __half(value); }
inline int __half2int_rn(__half value) { return __float2int_rn(value); }
inline int __half2int_rz(__half value) { return __float2int_rz(value); }
inline int __half2int_rd(__half value) { return __float2int_rd(value); }
inline int __half2int_ru(__half value) { return __float2int_ru(value); }
inline unsigned __half2uint_rn(__half value) { return __float2uint_rn(value); }
inline unsigned __half2uint_rz(__half value) { return __float2uint_rz(value); }
inline __half __ushort_as_half(unsigned short bits) { return __half_raw{bits}; }
inline __half __short_as_half(short bits) { return __ushort_as_half(static_cast<unsigned short>(bits)); }
inline unsigned short __half_as_ushort(__half value) { return value.bits; }
inline short __half_as_short(__half value) { return static_cast<short>(value.bits); }

inline __half2 make_half2(__half low, __half high) { return {low, high}; }
inline __half2 __halves2half2(__half low, __half high) { return {low, high}; }
inline __half2 __half2half2(__half value) { return {value, value}; }
inline __half2 __float2half2_rn(float value) { return __half2half2(__half(value)); }
inline __half __low2half(__half2 value) { return value.x; }
inline __half __high2half(__half2 value) { return value.y; }
inline __half2 __low2half2(__half2 value) { return {value.x, value.x}; }
inline __half2 __high2half2(__half2 value) { return {value.y, value.y}; }
inline __half2 __lows2half2(__half2 a, __half2 b) { return {a.x, b.x}; }
inline __half2 __highs2half2(__half2 a, __half2 b) { return {a.y, b.y}; }
inline __half2 __lowhigh2highlow(__half2 value) { return {value.y, value.x}; }
inline __half2 __floats2half2_rn(float low, float high) { return {__half(low), __half(high)}; }
inline __half2 __float22half2_rn(float2 value) { return {__half(value.x), __half(value.y)}; }
inline float2 __half22float2(__half2 value) { return {value.x, value.y}; }

#define CUDART_INF_FP16 __ushort_as_half(0x7c00)
#define CUDART_NAN_FP16 __ushort_as_half(0x7fff)
#define CUDART_ZERO_FP16 __ushort_as_half(0)
#define CUDART_NEG_ZERO_FP16 __ushort_as_half(0x8000)
#define CUDART_ONE_FP16 __ushort_as_half(0x3c00)
#define CUDART_MAX_NORMAL_FP16 __ushort_as_half(0x7bff)
#define CUDART_MIN_DENORM_FP16 __ushort_as_half(1)
