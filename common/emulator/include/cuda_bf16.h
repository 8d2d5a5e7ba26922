// __nv_bfloat16 for the CPU backend: the upper half of a float.
#pragma once

#include "cuda_emu/small_floats.hpp"

namespace cuda_emu {

inline unsigned short bfloat16_from_float(float value) {
  if (value != value) return 0x7fff;
  const auto bits = bit_cast<std::uint32_t>(value);
  return static_cast<unsigned short>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);  // a carry may make it infinity
}

}  // namespace cuda_emu

struct __nv_bfloat16_raw {
  unsigned short x;
};
struct __nv_bfloat16 {
  unsigned short bits;

  __nv_bfloat16() = default;
  __nv_bfloat16(float value) : bits(cuda_emu::bfloat16_from_float(value)) {}
  __nv_bfloat16(double value) : __nv_bfloat16(cuda_emu::round_to(value, 8, -126)) {}
  template <class Integer, class = std::enable_if_t<std::is_integral<Integer>::value>>
  __nv_bfloat16(Integer value) : __nv_bfloat16(static_cast<double>(value)) {}
  __nv_bfloat16(__nv_bfloat16_raw raw) : bits(raw.x) {}
  operator float() const { return cuda_emu::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }
  operator __nv_bfloat16_raw() const { return {bits}; }
};
struct alignas(4) __nv_bfloat162 {
  __nv_bfloat16 x, y;

  __nv_bfloat162() = default;
  __nv_bfloat162(const __nv_bfloat16& low, const __nv_bfloat16& high) : x(low), y(high) {}
};
using nv_bfloat16 = __nv_bfloat16;
using nv_bfloat162 = __nv_bfloat162;

template <>
struct cuda_emu::SmallFloat<__nv_bfloat16> {
  static __nv_bfloat16 from_double(double value) { return __nv_bfloat16(value); }
};
CUDA_EMU_SMALL_FLOAT(__nv_bfloat16, __nv_bfloat162)

// Conversions
inline __nv_bfloat16 __float2bfloat16(float value) { return __nv_bfloat16(value); }
inline __nv_bfloat16 __float2bfloat16_rn(float value) { return __nv_bfloat16(value); }
inline __nv_bfloat16 __double2bfloat16(double value) { return __nv_bfloat16(value); }
inline float __bfloat162float(__nv_bfloat16 value) { return value; }
inline __nv_bfloat16 __int2bfloat16_rn(int value) { return __nv_bfloat16(value); }
inline __nv_bfloat16 __ushort_as_bfloat16(unsigned short bits) { return __nv_bfloat16_raw{bits}; }
inline unsigned short __bfloat16_as_ushort(__nv_bfloat16 value) { return value.bits; }

inline __nv_bfloat162 make_bfloat162(__nv_bfloat16 low, __nv_bfloat16 high) { return {low, high}; }
inline __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 low, __nv_bfloat16 high) { return {low, high}; }
inline __nv_bfloat162 __bfloat162bfloat162(__nv_bfloat16 value) { return {value, value}; }
inline __nv_bfloat162 __float2bfloat162_rn(float value) { return __bfloat162bfloat162(__nv_bfloat16(value)); }
inline __nv_bfloat16 __low2bfloat16(__nv_bfloat162 value) { return value.x; }
inline __nv_bfloat16 __high2bfloat16(__nv_bfloat162 value) { return value.y; }
inline __nv_bfloat162 __low2bfloat162(__nv_bfloat162 value) { return {value.x, value.x}; }
inline __nv_bfloat162 __high2bfloat162(__nv_bfloat162 value) { return {value.y, value.y}; }
inline __nv_bfloat162 __floats2bfloat162_rn(float low, float high) { return {__nv_bfloat16(low), __nv_bfloat16(high)}; }
inline __nv_bfloat162 __float22bfloat162_rn(float2 value) { return __floats2bfloat162_rn(value.x, value.y); }
inline float2 __bfloat1622float2(__nv_bfloat162 value) { return {value.x, value.y}; }

#define CUDART_INF_BF16 __ushort_as_bfloat16(0x7f80)
#define CUDART_ZERO_BF16 __ushort_as_bfloat16(0)
#define CUDART_ONE_BF16 __ushort_as_bfloat16(0x3f80)
