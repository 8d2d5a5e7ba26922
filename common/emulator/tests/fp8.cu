// Tensor cores with FP8 (e4m3): the fragments of mma.sync, and how it adds.
#include "support.cuh"
#include "tensor_core_8bit.cuh"

#include <cmath>

namespace {

// Returns the bits of a number that is 0 or normal in e4m3.
unsigned bits_of(float value) {
  if (value == 0) return 0;
  int exponent = 0;
  const float fraction = std::frexp(std::fabs(value), &exponent);
  return (value < 0 ? 128u : 0u) + static_cast<unsigned>(8 * (exponent + 6) + 8 * (2 * fraction - 1));
}

// D = A B^T + D, A 16 x 32, B 8 x 32. Each lane finds its bytes by the manual's formulas.
__global__ void multiply(const unsigned char* A, const unsigned char* B, float* D) {
  const unsigned g = threadIdx.x / 4, t = threadIdx.x % 4;
  const auto word = [](const unsigned char* p) {
    return p[0] | p[1] << 8 | p[2] << 16 | static_cast<unsigned>(p[3]) << 24;
  };
  unsigned a[4];
  for (unsigned i = 0; i < 4; ++i) a[i] = word(A + (g + i % 2 * 8) * 32 + i / 2 * 16 + t * 4);
  float d[4];
  for (unsigned i = 0; i < 4; ++i) d[i] = D[(g + i / 2 * 8) * 8 + t * 2 + i % 2];
  mma_m16n8k32_e4m3(d, a, word(B + g * 32 + t * 4), word(B + g * 32 + 16 + t * 4));
  for (unsigned i = 0; i < 4; ++i) D[(g + i / 2 * 8) * 8 + t * 2 + i % 2] = d[i];
}

std::vector<float> product(const std::vector<unsigned char>& a, const std::vector<unsigned char>& b,
                           std::vector<float> d) {
  DeviceVector<unsigned char> A(a), B(b);
  DeviceVector<float> D(d);
  multiply<<<1, 32>>>(A.data(), B.data(), D.data());
  return D.get();
}

// Returns c plus the sum of up to 32 products, in this order along k.
float sum(float c, const std::vector<std::pair<float, float>>& factors) {
  std::vector<unsigned char> a(16 * 32), b(8 * 32);
  for (std::size_t i = 0; i < factors.size(); ++i) {
    a[i] = static_cast<unsigned char>(bits_of(factors[i].first));
    b[i] = static_cast<unsigned char>(bits_of(factors[i].second));
  }
  return product(a, b, std::vector<float>(16 * 8, c))[0];
}

}  // namespace

TEST_CASE("mma.sync m16n8k32 on e4m3: the fragments of the manual") {
  Random random(3);
  std::vector<float> a(16 * 32), b(8 * 32), d(16 * 8), want(16 * 8);
  for (auto* matrix : {&a, &b, &d}) {
    for (float& x : *matrix) x = static_cast<float>(random(-8, 8));
  }
  std::vector<unsigned char> bits_a, bits_b;
  for (const float x : a) bits_a.push_back(static_cast<unsigned char>(bits_of(x)));
  for (const float x : b) bits_b.push_back(static_cast<unsigned char>(bits_of(x)));
  for (int i = 0; i < 16; ++i) {
    for (int j = 0; j < 8; ++j) {
      want[i * 8 + j] = d[i * 8 + j];
      for (int l = 0; l < 32; ++l) want[i * 8 + j] += a[i * 32 + l] * b[j * 32 + l];
    }
  }
  CHECK(product(bits_a, bits_b, d) == want);
}

TEST_CASE("e4m3: subnormals, the largest number, NaN") {
  std::vector<unsigned char> a(16 * 32), b(8 * 32, 0x38);  // ones
  const auto first = [&](unsigned char bits) {
    a[0] = bits;
    return product(a, b, std::vector<float>(16 * 8, 0.0f))[0];
  };
  CHECK(first(0x01) == std::ldexp(1.0f, -9));
  CHECK(first(0x87) == -7 * std::ldexp(1.0f, -9));
  CHECK(first(0x7e) == 448);
  CHECK(std::isnan(first(0x7f)));
  CHECK(std::isnan(first(0xff)));
}

// Reported by the authors of SageAttention2 for Ada, and of DeepSeek-V3 for Hopper's wgmma; not measured here yet. For
// sm_90 ptxas compiles mma.sync to FP16 products with FP32 sums.
TEST_CASE("how mma.sync adds in e4m3: terms and sum are cut off to 14 bits") {
  bool cut = true;
#ifndef CUDA_EMU
  int major = 0;
  REQUIRE(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0) == cudaSuccess);
  if (major > 9) return;
  cut = major == 8;
#endif
  const auto power = [](int exponent) { return std::ldexp(1.0f, exponent); };
  const float one = cut ? 0.0f : 1.0f;  // what remains of 1 when added to 2^14
  CHECK(sum(1 + power(-13), {}) == 1 + power(-13));
  CHECK(sum(1 + power(-14), {}) == (cut ? 1 : 1 + power(-14)));  // 13 bits behind the first
  CHECK(sum(8192, {{1, 1}}) == 8193);
  CHECK(sum(16384, {{1, 1}}) == 16384 + one);
  CHECK(sum(16384, {{1, 1}, {1, 1}}) == 16384 + 2 * one);  // each is lost
  CHECK(sum(16384, {{2, 1}}) == 16386);
  CHECK(sum(0, {{128, 128}, {1, 1}, {-128, 128}}) == one);  // a product may be the largest, too
}
