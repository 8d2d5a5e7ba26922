// CUDA's intrinsics for bits, casts, cached loads and arithmetic. The approximate ones (__expf, ...) are computed
// exactly here: a test that needs their error must run on a GPU.
#pragma once

#include <cmath>
#include <limits>

#include "device.hpp"

// Loads and stores with a cache hint.
#define CUDA_EMU_LOAD(NAME)         \
  template <class T>                \
  inline T NAME(const T* address) { \
    return *address;                \
  }
#define CUDA_EMU_STORE(NAME)              \
  template <class T>                      \
  inline void NAME(T* address, T value) { \
    *address = value;                     \
  }
CUDA_EMU_LOAD(__ldg)
CUDA_EMU_LOAD(__ldca)
CUDA_EMU_LOAD(__ldcg)
CUDA_EMU_LOAD(__ldcs)
CUDA_EMU_LOAD(__ldlu)
CUDA_EMU_LOAD(__ldcv)
CUDA_EMU_STORE(__stwb)
CUDA_EMU_STORE(__stcg)
CUDA_EMU_STORE(__stcs)
CUDA_EMU_STORE(__stwt)
#undef CUDA_EMU_LOAD
#undef CUDA_EMU_STORE

namespace cuda_emu {

template <class To, class From>
inline To bit_cast(From from) {
  static_assert(sizeof(To) == sizeof(From), "a bit cast keeps the size");
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}

// Converts a float or double without a fraction. Values out of range saturate; NaN gives 0.
template <class T, class Float>
inline T to_integer(Float x) {
  constexpr T kMax = std::numeric_limits<T>::max(), kMin = std::numeric_limits<T>::min();
  if (!(x == x)) return 0;
  if (x <= static_cast<Float>(kMin)) return kMin;
  return x >= static_cast<Float>(kMax) ? kMax : static_cast<T>(x);
}

// Returns the low 24 bits as a signed number.
inline int low_24_bits(int x) { return static_cast<int>(static_cast<unsigned>(x) << 8) >> 8; }

// Rounds `exact` to a float towards `limit`.
inline float directed(double exact, float limit) {
  const float nearest = static_cast<float>(exact);
  const double value = nearest;
  const bool past = limit < 0 ? value > exact : limit > 0 ? value < exact : std::fabs(value) > std::fabs(exact);
  return past ? std::nextafterf(nearest, limit) : nearest;
}

// Returns a + b in double, rounded to odd: the last bit is set if the sum is inexact.
inline double sum_to_odd(double a, double b) {
  const double sum = a + b;
  if (!std::isfinite(sum)) return sum;
  const double part = sum - a, lost = (a - (sum - part)) + (b - part);
  if (lost == 0 || bit_cast<std::uint64_t>(sum) % 2 == 1) return sum;
  return std::nextafter(sum, lost > 0 ? HUGE_VAL : -HUGE_VAL);
}

// Forces the compiler to round the value before it is used: __fmul_rn(a, b) + c must not become a fused multiply-add.
template <class T>
inline T rounded(T value) {
#if defined(__x86_64__)
  asm("" : "+x"(value));
  return value;
#elif defined(__aarch64__)
  asm("" : "+w"(value));
  return value;
#else
  volatile T stored = value;
  return stored;
#endif
}

}  // namespace cuda_emu

// Bits
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline int __clz(int x) { return x == 0 ? 32 : __builtin_clz(static_cast<unsigned>(x)); }
inline int __clzll(long long x) { return x == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(x)); }

inline unsigned __brev(unsigned x) {
  x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
  x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
  x = (x >> 4 & 0x0f0f0f0fu) | (x & 0x0f0f0f0fu) << 4;
  return __builtin_bswap32(x);
}

inline unsigned long long __brevll(unsigned long long x) {
  return static_cast<unsigned long long>(__brev(static_cast<unsigned>(x))) << 32 |
         __brev(static_cast<unsigned>(x >> 32));
}

// Selects bytes of {y, x} (y is the high word) by the four low nibbles of `selector`.
inline unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
  const unsigned long long bytes = static_cast<unsigned long long>(y) << 32 | x;
  unsigned result = 0;
  for (int i = 0; i < 4; ++i) {
    const unsigned nibble = selector >> 4 * i & 0xf;
    unsigned byte = bytes >> 8 * (nibble & 7) & 0xff;
    if (nibble & 8) byte = byte & 0x80 ? 0xff : 0;
    result |= byte << 8 * i;
  }
  return result;
}

inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>(((static_cast<unsigned long long>(high) << 32 | low) << (shift & 31)) >> 32);
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>((static_cast<unsigned long long>(high) << 32 | low) >> (shift & 31));
}

// Casts
inline float __int_as_float(int x) { return cuda_emu::bit_cast<float>(x); }
inline int __float_as_int(float x) { return cuda_emu::bit_cast<int>(x); }
inline float __uint_as_float(unsigned x) { return cuda_emu::bit_cast<float>(x); }
inline unsigned __float_as_uint(float x) { return cuda_emu::bit_cast<unsigned>(x); }
inline double __longlong_as_double(long long x) { return cuda_emu::bit_cast<double>(x); }
inline long long __double_as_longlong(double x) { return cuda_emu::bit_cast<long long>(x); }
inline int __float2int_rz(float x) { return cuda_emu::to_integer<int>(truncf(x)); }
inline int __float2int_rn(float x) { return cuda_emu::to_integer<int>(nearbyintf(x)); }
inline int __float2int_rd(float x) { return cuda_emu::to_integer<int>(floorf(x)); }
inline int __float2int_ru(float x) { return cuda_emu::to_integer<int>(ceilf(x)); }
inline unsigned __float2uint_rz(float x) { return cuda_emu::to_integer<unsigned>(truncf(x)); }
inline unsigned __float2uint_rd(float x) { return cuda_emu::to_integer<unsigned>(floorf(x)); }
inline unsigned __float2uint_ru(float x) { return cuda_emu::to_integer<unsigned>(ceilf(x)); }
inline long long __float2ll_rz(float x) { return cuda_emu::to_integer<long long>(truncf(x)); }
inline long long __float2ll_rn(float x) { return cuda_emu::to_integer<long long>(nearbyintf(x)); }
inline float __ll2float_rn(long long x) { return static_cast<float>(x); }
inline float __ull2float_rn(unsigned long long x) { return static_cast<float>(x); }
inline double __ll2double_rn(long long x) { return static_cast<double>(x); }
inline int __double2hiint(double x) { return static_cast<int>(cuda_emu::bit_cast<long long>(x) >> 32); }
inline int __double2loint(double x) { return static_cast<int>(cuda_emu::bit_cast<long long>(x)); }
inline double __hiloint2double(int high, int low) {
  return cuda_emu::bit_cast<double>(static_cast<long long>(high) << 32 | static_cast<unsigned>(low));
}
inline unsigned __float2uint_rn(float x) { return cuda_emu::to_integer<unsigned>(nearbyintf(x)); }
inline float __int2float_rn(int x) { return static_cast<float>(x); }
inline float __uint2float_rn(unsigned x) { return static_cast<float>(x); }
inline int __double2int_rz(double x) { return cuda_emu::to_integer<int>(trunc(x)); }
inline int __double2int_rn(double x) { return cuda_emu::to_integer<int>(nearbyint(x)); }
inline float __double2float_rn(double x) { return static_cast<float>(x); }
inline double __int2double_rn(int x) { return x; }

// Integers
inline int __mul24(int a, int b) {
  return static_cast<int>(static_cast<long long>(cuda_emu::low_24_bits(a)) * cuda_emu::low_24_bits(b));
}
inline unsigned __umul24(unsigned a, unsigned b) { return (a & 0xffffffu) * (b & 0xffffffu); }
inline int __mulhi(int a, int b) { return static_cast<int>(static_cast<long long>(a) * b >> 32); }
inline unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>(static_cast<unsigned long long>(a) * b >> 32);
}
inline long long __mul64hi(long long a, long long b) {
  return static_cast<long long>(static_cast<__int128>(a) * b >> 64);
}
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return static_cast<unsigned long long>(static_cast<unsigned __int128>(a) * b >> 64);
}
inline unsigned __sad(int a, int b, unsigned c) {
  return (a < b ? static_cast<unsigned>(b) - static_cast<unsigned>(a)
                : static_cast<unsigned>(a) - static_cast<unsigned>(b)) +
         c;
}

// Returns c plus the products of four signed bytes.
inline int __dp4a(int a, int b, int c) {
  unsigned sum = static_cast<unsigned>(c);
  for (int i = 0; i < 4; ++i) {
    sum += static_cast<unsigned>(static_cast<signed char>(a >> 8 * i) * static_cast<signed char>(b >> 8 * i));
  }
  return static_cast<int>(sum);
}
inline unsigned __dp4a(unsigned a, unsigned b, unsigned c) {
  for (int i = 0; i < 4; ++i) {
    c += (a >> 8 * i & 0xff) * (b >> 8 * i & 0xff);
  }
  return c;
}

// Correctly rounded arithmetic
inline float __fadd_rn(float a, float b) { return cuda_emu::rounded(a + b); }
inline float __fsub_rn(float a, float b) { return cuda_emu::rounded(a - b); }
inline float __fmul_rn(float a, float b) { return cuda_emu::rounded(a * b); }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
inline float __frcp_rn(float x) { return 1.0f / x; }
inline float __fsqrt_rn(float x) { return sqrtf(x); }
inline float __frsqrt_rn(float x) { return static_cast<float>(1.0 / sqrt(static_cast<double>(x))); }
inline double __dadd_rn(double a, double b) { return cuda_emu::rounded(a + b); }
inline double __dsub_rn(double a, double b) { return cuda_emu::rounded(a - b); }
inline double __dmul_rn(double a, double b) { return cuda_emu::rounded(a * b); }
inline double __ddiv_rn(double a, double b) { return a / b; }
inline double __fma_rn(double a, double b, double c) { return fma(a, b, c); }
inline double __drcp_rn(double x) { return 1.0 / x; }
inline double __dsqrt_rn(double x) { return sqrt(x); }

// Functions that are approximate on a GPU
inline float __expf(float x) { return expf(x); }
inline float __exp10f(float x) { return powf(10.0f, x); }
inline float __logf(float x) { return logf(x); }
inline float __log2f(float x) { return log2f(x); }
inline float __log10f(float x) { return log10f(x); }
// Returns 2 to the power of y * log2(x), as a GPU does: NaN for negative x, whatever y is.
inline float __powf(float x, float y) { return exp2f(y * log2f(x)); }
inline float __sinf(float x) { return sinf(x); }
inline float __cosf(float x) { return cosf(x); }
inline float __tanf(float x) { return tanf(x); }
inline void __sincosf(float x, float* sine, float* cosine) {
  *sine = sinf(x);
  *cosine = cosf(x);
}
inline float __tanhf(float x) { return tanhf(x); }
inline float __fdividef(float a, float b) { return a / b; }
inline float fdividef(float a, float b) { return a / b; }
inline float __saturatef(float x) { return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f; }

// Arithmetic rounded down, up or towards 0, from a result in double.
#define CUDA_EMU_DIRECTED(NAME, DOUBLE_RESULT)                                                       \
  inline float NAME##_rd(float a, float b) { return cuda_emu::directed(DOUBLE_RESULT, -HUGE_VALF); } \
  inline float NAME##_ru(float a, float b) { return cuda_emu::directed(DOUBLE_RESULT, HUGE_VALF); }  \
  inline float NAME##_rz(float a, float b) { return cuda_emu::directed(DOUBLE_RESULT, 0.0f); }
CUDA_EMU_DIRECTED(__fadd, cuda_emu::sum_to_odd(a, b))
CUDA_EMU_DIRECTED(__fsub, cuda_emu::sum_to_odd(a, -b))
CUDA_EMU_DIRECTED(__fmul, static_cast<double>(a) * static_cast<double>(b))
#undef CUDA_EMU_DIRECTED

// Integer minimum and maximum by type
inline unsigned umin(unsigned a, unsigned b) { return a < b ? a : b; }
inline unsigned umax(unsigned a, unsigned b) { return a < b ? b : a; }
inline long long llmin(long long a, long long b) { return a < b ? a : b; }
inline long long llmax(long long a, long long b) { return a < b ? b : a; }
inline unsigned long long ullmin(unsigned long long a, unsigned long long b) { return a < b ? a : b; }
inline unsigned long long ullmax(unsigned long long a, unsigned long long b) { return a < b ? b : a; }
inline unsigned __usad(unsigned a, unsigned b, unsigned c) { return (a < b ? b - a : a - b) + c; }
inline int __hadd(int a, int b) { return static_cast<int>((static_cast<long long>(a) + b) >> 1); }
inline int __rhadd(int a, int b) { return static_cast<int>((static_cast<long long>(a) + b + 1) >> 1); }

// Functions that C lacks
inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
inline double rsqrt(double x) { return 1.0 / sqrt(x); }
inline float rcbrtf(float x) { return 1.0f / cbrtf(x); }
inline double rcbrt(double x) { return 1.0 / cbrt(x); }
inline float sinpif(float x) { return static_cast<float>(sin(M_PI * static_cast<double>(x))); }
inline float cospif(float x) { return static_cast<float>(cos(M_PI * static_cast<double>(x))); }
inline double sinpi(double x) { return sin(M_PI * x); }
inline double cospi(double x) { return cos(M_PI * x); }
inline float normcdff(float x) { return 0.5f * erfcf(-x * static_cast<float>(M_SQRT1_2)); }
inline double normcdf(double x) { return 0.5 * erfc(-x * M_SQRT1_2); }

// CUDA's overloads of min and max. Mixed signs compare as unsigned; of a number and NaN the number is returned.
#define CUDA_EMU_MIN_MAX(A, B, RESULT)                                                                        \
  inline RESULT min(A a, B b) {                                                                               \
    return static_cast<RESULT>(b) < static_cast<RESULT>(a) ? static_cast<RESULT>(b) : static_cast<RESULT>(a); \
  }                                                                                                           \
  inline RESULT max(A a, B b) {                                                                               \
    return static_cast<RESULT>(a) < static_cast<RESULT>(b) ? static_cast<RESULT>(b) : static_cast<RESULT>(a); \
  }
#define CUDA_EMU_MIN_MAX_INTEGER(T)                    \
  CUDA_EMU_MIN_MAX(T, T, T)                            \
  CUDA_EMU_MIN_MAX(unsigned T, unsigned T, unsigned T) \
  CUDA_EMU_MIN_MAX(T, unsigned T, unsigned T)          \
  CUDA_EMU_MIN_MAX(unsigned T, T, unsigned T)
CUDA_EMU_MIN_MAX_INTEGER(int)
CUDA_EMU_MIN_MAX_INTEGER(long)
CUDA_EMU_MIN_MAX_INTEGER(long long)
#undef CUDA_EMU_MIN_MAX_INTEGER
#undef CUDA_EMU_MIN_MAX
inline float min(float a, float b) { return fminf(a, b); }
inline float max(float a, float b) { return fmaxf(a, b); }
inline double min(double a, double b) { return fmin(a, b); }
inline double max(double a, double b) { return fmax(a, b); }
inline double min(float a, double b) { return fmin(a, b); }
inline double max(float a, double b) { return fmax(a, b); }
inline double min(double a, float b) { return fmin(a, b); }
inline double max(double a, float b) { return fmax(a, b); }
