// The common part of __half and __nv_bfloat16. Every operation rounds its result to the type, to nearest even, as on a
// GPU.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "atomics.hpp"
#include "math.hpp"
#include "warp.hpp"

namespace cuda_emu {

// Rounds to the nearest number with `significand` bits and an exponent of at least `min_exponent`. The result is exact
// in float.
inline float round_to(double value, int significand, int min_exponent) {
  if (value == 0 || !std::isfinite(value)) return static_cast<float>(value);
  int exponent;
  std::frexp(value, &exponent);  // 2^(exponent - 1) <= |value| < 2^exponent
  const int unit = (exponent - 1 < min_exponent ? min_exponent : exponent - 1) - (significand - 1);
  return static_cast<float>(std::ldexp(std::nearbyint(std::ldexp(value, -unit)), unit));
}

// Returns a * b + c, rounded to odd in double, so one more rounding to a shorter type is correct. The product must be
// exact in double.
inline double multiply_add(double a, double b, double c) { return sum_to_odd(a * b, c); }

template <class T>
struct SmallFloat;  // FromDouble: a double rounded once

}  // namespace cuda_emu

// Functions with the same name for both types. Rounding a sum, product, quotient or root to float first, then to the
// type, gives the same as rounding once, because a float has 24 >= 2 * 11 + 2 bits (Figueroa, SIGNUM Newsletter 30,
// 1995).
#define CUDA_EMU_SMALL_FLOAT(T, PAIR)                                                                     \
  inline T operator+(const T& a, const T& b) { return T(static_cast<float>(a) + static_cast<float>(b)); } \
  inline T operator-(const T& a, const T& b) { return T(static_cast<float>(a) - static_cast<float>(b)); } \
  inline T operator*(const T& a, const T& b) { return T(static_cast<float>(a) * static_cast<float>(b)); } \
  inline T operator/(const T& a, const T& b) { return T(static_cast<float>(a) / static_cast<float>(b)); } \
  inline T operator+(const T& a) { return a; }                                                            \
  inline T operator-(const T& a) { return T(-static_cast<float>(a)); }                                    \
  inline T& operator+=(T& a, const T& b) { return a = a + b; }                                            \
  inline T& operator-=(T& a, const T& b) { return a = a - b; }                                            \
  inline T& operator*=(T& a, const T& b) { return a = a * b; }                                            \
  inline T& operator/=(T& a, const T& b) { return a = a / b; }                                            \
  inline T& operator++(T& a) { return a = a + T(1.0f); }                                                  \
  inline T& operator--(T& a) { return a = a - T(1.0f); }                                                  \
  inline T operator++(T& a, int) {                                                                        \
    const T before = a;                                                                                   \
    ++a;                                                                                                  \
    return before;                                                                                        \
  }                                                                                                       \
  inline T operator--(T& a, int) {                                                                        \
    const T before = a;                                                                                   \
    --a;                                                                                                  \
    return before;                                                                                        \
  }                                                                                                       \
  inline T __hadd(T a, T b) { return a + b; }                                                             \
  inline T __hsub(T a, T b) { return a - b; }                                                             \
  inline T __hmul(T a, T b) { return a * b; }                                                             \
  inline T __hdiv(T a, T b) { return a / b; }                                                             \
  inline T __hadd_rn(T a, T b) { return a + b; }                                                          \
  inline T __hsub_rn(T a, T b) { return a - b; }                                                          \
  inline T __hmul_rn(T a, T b) { return a * b; }                                                          \
  inline T __hneg(T a) { return -a; }                                                                     \
  inline T __habs(T a) { return T(fabsf(a)); }                                                            \
  inline T __hmax(T a, T b) { return T(fmaxf(a, b)); }                                                    \
  inline T __hmin(T a, T b) { return T(fminf(a, b)); }                                                    \
  inline T __hadd_sat(T a, T b) { return T(__saturatef(a + b)); }                                         \
  inline T __hmul_sat(T a, T b) { return T(__saturatef(a * b)); }                                         \
  inline T __hfma(T a, T b, T c) {                                                                        \
    return cuda_emu::SmallFloat<T>::from_double(                                                          \
        cuda_emu::multiply_add(static_cast<float>(a), static_cast<float>(b), static_cast<float>(c)));     \
  }                                                                                                       \
  inline T __hfma_relu(T a, T b, T c) { return __hmax(__hfma(a, b, c), T(0.0f)); }                        \
  inline bool __hisnan(T a) { return static_cast<float>(a) != static_cast<float>(a); }                    \
  inline int __hisinf(T a) { return fabsf(a) == HUGE_VALF ? (static_cast<float>(a) > 0 ? 1 : -1) : 0; }   \
  inline PAIR operator+(const PAIR& a, const PAIR& b) { return {a.x + b.x, a.y + b.y}; }                  \
  inline PAIR operator-(const PAIR& a, const PAIR& b) { return {a.x - b.x, a.y - b.y}; }                  \
  inline PAIR operator*(const PAIR& a, const PAIR& b) { return {a.x * b.x, a.y * b.y}; }                  \
  inline PAIR operator/(const PAIR& a, const PAIR& b) { return {a.x / b.x, a.y / b.y}; }                  \
  inline PAIR operator-(const PAIR& a) { return {-a.x, -a.y}; }                                           \
  inline PAIR& operator+=(PAIR& a, const PAIR& b) { return a = a + b; }                                   \
  inline PAIR& operator-=(PAIR& a, const PAIR& b) { return a = a - b; }                                   \
  inline PAIR& operator*=(PAIR& a, const PAIR& b) { return a = a * b; }                                   \
  inline PAIR& operator/=(PAIR& a, const PAIR& b) { return a = a / b; }                                   \
  inline PAIR __hadd2(PAIR a, PAIR b) { return a + b; }                                                   \
  inline PAIR __hsub2(PAIR a, PAIR b) { return a - b; }                                                   \
  inline PAIR __hmul2(PAIR a, PAIR b) { return a * b; }                                                   \
  inline PAIR __h2div(PAIR a, PAIR b) { return a / b; }                                                   \
  inline PAIR __hadd2_rn(PAIR a, PAIR b) { return a + b; }                                                \
  inline PAIR __hsub2_rn(PAIR a, PAIR b) { return a - b; }                                                \
  inline PAIR __hmul2_rn(PAIR a, PAIR b) { return a * b; }                                                \
  inline PAIR __hneg2(PAIR a) { return -a; }                                                              \
  inline PAIR __habs2(PAIR a) { return {__habs(a.x), __habs(a.y)}; }                                      \
  inline PAIR __hmax2(PAIR a, PAIR b) { return {__hmax(a.x, b.x), __hmax(a.y, b.y)}; }                    \
  inline PAIR __hmin2(PAIR a, PAIR b) { return {__hmin(a.x, b.x), __hmin(a.y, b.y)}; }                    \
  inline PAIR __hfma2(PAIR a, PAIR b, PAIR c) { return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)}; }  \
  inline PAIR __hfma2_relu(PAIR a, PAIR b, PAIR c) {                                                      \
    return {__hfma_relu(a.x, b.x, c.x), __hfma_relu(a.y, b.y, c.y)};                                      \
  }                                                                                                       \
  inline float __low2float(PAIR a) { return a.x; }                                                        \
  inline float __high2float(PAIR a) { return a.y; }                                                       \
  CUDA_EMU_SMALL_COMPARE(T, PAIR, ==, __heq)                                                              \
  CUDA_EMU_SMALL_COMPARE(T, PAIR, !=, __hne)                                                              \
  CUDA_EMU_SMALL_COMPARE(T, PAIR, <, __hlt)                                                               \
  CUDA_EMU_SMALL_COMPARE(T, PAIR, <=, __hle)                                                              \
  CUDA_EMU_SMALL_COMPARE(T, PAIR, >, __hgt)                                                               \
  CUDA_EMU_SMALL_COMPARE(T, PAIR, >=, __hge)                                                              \
  CUDA_EMU_SMALL_FUNCTION(T, PAIR, hexp, h2exp, expf)                                                     \
  CUDA_EMU_SMALL_FUNCTION(T, PAIR, hexp2, h2exp2, exp2f)                                                  \
  CUDA_EMU_SMALL_FUNCTION(T, PAIR, hexp10, h2exp10, __exp10f)                                             \
  CUDA_EMU_SMALL_FUNCTION(T, PAIR, hlog, h2log, logf)                                                     \
  CUDA_EMU_SMALL_FUNCTION(T, PAIR, hlog2, h2log2, log2f)                                                  \
  CUDA_EMU_SMALL_FUNCTION(T, PAIR, hlog10, h2log10, log10f)                                               \
  CUDA_EMU_SMALL_FUNCTION(T, PAIR, hsqrt, h2sqrt, sqrtf)                                                  \
  CUDA_EMU_SMALL_FUNCTION(T, PAIR, hrsqrt, h2rsqrt, rsqrtf)                                               \
  CUDA_EMU_SMALL_FUNCTION(T, PAIR, hrcp, h2rcp, __frcp_rn)                                                \
  CUDA_EMU_SMALL_FUNCTION(T, PAIR, hsin, h2sin, sinf)                                                     \
  CUDA_EMU_SMALL_FUNCTION(T, PAIR, hcos, h2cos, cosf)                                                     \
  CUDA_EMU_SMALL_FUNCTION(T, PAIR, htanh, h2tanh, tanhf)                                                  \
  CUDA_EMU_SMALL_FUNCTION(T, PAIR, hfloor, h2floor, floorf)                                               \
  CUDA_EMU_SMALL_FUNCTION(T, PAIR, hceil, h2ceil, ceilf)                                                  \
  CUDA_EMU_SMALL_FUNCTION(T, PAIR, htrunc, h2trunc, truncf)                                               \
  CUDA_EMU_SMALL_FUNCTION(T, PAIR, hrint, h2rint, nearbyintf)                                             \
  CUDA_EMU_SMALL_SHUFFLE(T, PAIR, __shfl_sync, shfl, int)                                                 \
  CUDA_EMU_SMALL_SHUFFLE(T, PAIR, __shfl_up_sync, shfl_up, unsigned)                                      \
  CUDA_EMU_SMALL_SHUFFLE(T, PAIR, __shfl_down_sync, shfl_down, unsigned)                                  \
  CUDA_EMU_SMALL_SHUFFLE(T, PAIR, __shfl_xor_sync, shfl_xor, int)                                         \
  CUDA_EMU_TRACED T atomicAdd(T* address, T value) {                                                      \
    CUDA_EMU_TRACE_ATOMIC(address);                                                                       \
    return cuda_emu::atomic_update(address, [=](T old) { return old + value; });                          \
  }                                                                                                       \
  CUDA_EMU_TRACED PAIR atomicAdd(PAIR* address, PAIR value) {                                             \
    CUDA_EMU_TRACE_ATOMIC(address);                                                                       \
    return cuda_emu::atomic_update(address, [=](PAIR old) { return old + value; });                       \
  }

#define CUDA_EMU_SMALL_COMPARE(T, PAIR, OPERATOR, NAME)          \
  inline bool operator OPERATOR(const T& a, const T& b) {        \
    return static_cast<float>(a) OPERATOR static_cast<float>(b); \
  }                                                              \
  inline bool NAME(T a, T b) { return a OPERATOR b; }            \
  inline PAIR NAME##2(PAIR a, PAIR b) { return {T(a.x OPERATOR b.x ? 1.0f : 0.0f), T(a.y OPERATOR b.y ? 1.0f : 0.0f)}; }

#define CUDA_EMU_SMALL_FUNCTION(T, PAIR, NAME, PAIR_NAME, FUNCTION) \
  inline T NAME(T a) { return T(FUNCTION(static_cast<float>(a))); } \
  inline PAIR PAIR_NAME(PAIR a) { return {NAME(a.x), NAME(a.y)}; }

#define CUDA_EMU_SMALL_SHUFFLE(T, PAIR, NAME, OP, ARGUMENT)                                             \
  inline T NAME(unsigned mask, T value, ARGUMENT argument, int width = warpSize, CUDA_EMU_HERE) {       \
    return cuda_emu::shuffle(cuda_emu::WarpOp::OP, mask, value, static_cast<int>(argument), width,      \
                             {#NAME, file, line});                                                      \
  }                                                                                                     \
  inline PAIR NAME(unsigned mask, PAIR value, ARGUMENT argument, int width = warpSize, CUDA_EMU_HERE) { \
    return cuda_emu::shuffle(cuda_emu::WarpOp::OP, mask, value, static_cast<int>(argument), width,      \
                             {#NAME, file, line});                                                      \
  }
