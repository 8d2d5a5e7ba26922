// __half: conversions of every half and every kind of float, and arithmetic, compared with a search in double.
#include "support.cuh"

#include <cuda_fp16.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

namespace {

constexpr int kHalves = 1 << 16;

__global__ void widen(const unsigned short* bits, float* values, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) values[i] = __half2float(__ushort_as_half(bits[i]));
}

__global__ void narrow(const float* values, unsigned short* bits, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) bits[i] = __half_as_ushort(__float2half(values[i]));
}

// sums[i] and sums[i + 1], i even, are the results of one __hadd2; differences and products are from scalar functions.
__global__ void arithmetic(const unsigned short* a, const unsigned short* b, unsigned short* sums,
                           unsigned short* differences, unsigned short* products, int n) {
  const int i = 2 * (blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= n) return;
  const __half2 u = __halves2half2(__ushort_as_half(a[i]), __ushort_as_half(a[i + 1]));
  const __half2 v = __halves2half2(__ushort_as_half(b[i]), __ushort_as_half(b[i + 1]));
  const __half2 sum = __hadd2(u, v);
  sums[i] = __half_as_ushort(__low2half(sum));
  sums[i + 1] = __half_as_ushort(__high2half(sum));
  for (int k = i; k < i + 2; ++k) {
    const __half x = __ushort_as_half(a[k]), y = __ushort_as_half(b[k]);
    differences[k] = __half_as_ushort(__hsub(x, y));
    products[k] = __half_as_ushort(__hmul(x, y));
  }
}

// Returns the value of a half with these bits, by the definition of the format.
double value_of(unsigned bits) {
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  double magnitude = std::ldexp(1024 + fraction, exponent - 25);
  if (exponent == 0) magnitude = std::ldexp(fraction, -24);
  if (exponent == 31) magnitude = fraction ? std::nan("") : std::numeric_limits<double>::infinity();
  return bits & 0x8000 ? -magnitude : magnitude;
}

bool is_nan(unsigned bits) { return (bits & 0x7fff) > 0x7c00; }

// Searches all halves for the one nearest to `value`; in a tie the even one. From 65520, halfway to the number that the
// format would have next, it is infinity.
unsigned nearest(double value) {
  static const std::vector<double> positive = [] {
    std::vector<double> all;
    for (unsigned bits = 0; bits < 0x7c00; ++bits) all.push_back(value_of(bits));
    return all;
  }();
  const unsigned sign = std::signbit(value) ? 0x8000 : 0;
  const double magnitude = std::fabs(value);
  if (magnitude >= 65520) return sign | 0x7c00;
  const auto above = std::upper_bound(positive.begin(), positive.end(), magnitude);
  const auto below = static_cast<unsigned>(above - positive.begin()) - 1;
  if (above == positive.end()) return sign | below;
  const double to_below = magnitude - positive[below], to_above = *above - magnitude;
  return sign | (to_below < to_above || (to_below == to_above && below % 2 == 0) ? below : below + 1);
}

std::vector<unsigned short> random_halves(unsigned seed, int n) {
  Random random(seed);
  std::vector<unsigned short> bits(n);
  for (auto& b : bits) b = static_cast<unsigned short>(random(0, kHalves - 1));
  return bits;
}

}  // namespace

TEST_CASE("every half becomes the float that it means") {
  std::vector<unsigned short> bits(kHalves);
  for (int i = 0; i < kHalves; ++i) bits[i] = static_cast<unsigned short>(i);
  DeviceVector<unsigned short> in(bits);
  DeviceVector<float> out(kHalves);
  widen<<<kHalves / 256, 256>>>(in.data(), out.data(), kHalves);
  const auto values = out.get();
  for (int i = 0; i < kHalves; ++i) {
    INFO(i);
    if (is_nan(i)) {
      REQUIRE(std::isnan(values[i]));
    } else {
      REQUIRE(values[i] == value_of(i));
      REQUIRE(std::signbit(values[i]) == (i >= 0x8000));
      REQUIRE(__half_as_ushort(__float2half(values[i])) == i);  // and back, on the host
    }
  }
}

TEST_CASE("a float becomes the nearest half, ties to even") {
  std::vector<float> values = {0.0f, -0.0f, 65504.0f, 65519.0f, 65519.996f, 65520.0f, -65520.0f, 1e30f};
  // values around each half, and around the midpoint between it and the next
  for (unsigned bits = 0; bits < 0x7c00; bits += bits < 0x0500 || bits > 0x7b00 ? 1 : 7) {
    const float exact = static_cast<float>(value_of(bits));
    const float middle = static_cast<float>((value_of(bits) + (bits == 0x7bff ? 65536 : value_of(bits + 1))) / 2);
    for (const float v : {exact, middle}) {
      for (const float w : {v, std::nextafter(v, 1e30f), std::nextafter(v, -1e30f)}) {
        values.push_back(w);
        values.push_back(-w);
      }
    }
  }
  Random random(5);
  for (int i = 0; i < 100000; ++i) {
    const unsigned bits = static_cast<unsigned>(random(0, 0x7fffff)) | static_cast<unsigned>(random(90, 150)) << 23;
    float value;
    std::memcpy(&value, &bits, sizeof value);
    values.push_back(value);
  }
  const int n = static_cast<int>(values.size());
  DeviceVector<float> in(values);
  DeviceVector<unsigned short> out(values.size());
  narrow<<<(n + 255) / 256, 256>>>(in.data(), out.data(), n);
  const auto bits = out.get();
  for (int i = 0; i < n; ++i) {
    INFO(values[i]);
    REQUIRE(bits[i] == nearest(values[i]));
    REQUIRE(__half_as_ushort(__float2half(values[i])) == bits[i]);
  }
  const float inf = std::numeric_limits<float>::infinity();
  CHECK(__half_as_ushort(__float2half(inf)) == 0x7c00);
  CHECK(__half_as_ushort(__float2half(-inf)) == 0xfc00);
  CHECK(is_nan(__half_as_ushort(__float2half(std::nanf("")))));
}

TEST_CASE("sums, differences and products of halves are rounded once") {
  const int n = 1 << 18;
  const auto a = random_halves(1, n), b = random_halves(2, n);
  DeviceVector<unsigned short> u(a), v(b), sums(n), differences(n), products(n);
  arithmetic<<<n / 512, 256>>>(u.data(), v.data(), sums.data(), differences.data(), products.data(), n);
  const auto sum = sums.get(), difference = differences.get(), product = products.get();
  const auto check = [](unsigned got, double exact) {  // sums and products of halves are exact in double
    if (std::isnan(exact)) {
      REQUIRE(is_nan(got));
    } else {
      REQUIRE(got == nearest(exact));
    }
  };
  for (int i = 0; i < n; ++i) {
    INFO(a[i] << " " << b[i]);
    const double x = value_of(a[i]), y = value_of(b[i]);
    check(sum[i], x + y);
    check(difference[i], x - y);
    check(product[i], x * y);
  }
}

TEST_CASE("pairs of halves") {
  STATIC_REQUIRE(sizeof(__half) == 2);
  STATIC_REQUIRE(sizeof(__half2) == 4);
  STATIC_REQUIRE(alignof(__half2) == 4);
  const __half2 pair = __floats2half2_rn(1.5f, -2.0f);
  CHECK(__half2float(__low2half(pair)) == 1.5f);
  CHECK(__half2float(__high2half(pair)) == -2.0f);
  CHECK(__half22float2(pair).x == 1.5f);
  CHECK(__half22float2(pair).y == -2.0f);
}
