// bfloat16: conversions and arithmetic, each operation rounded.
#include "support.cuh"

#include <cuda_bf16.h>

#include <cmath>
#include <cstdint>
#include <cstring>

namespace {

__global__ void one_lost_bit(float* out, __nv_bfloat16 large, __nv_bfloat16 one) {
  __nv_bfloat16 sum = large + one - large;
  out[0] = static_cast<float>(sum);
  sum = large;
  sum += one;
  sum -= large;
  out[1] = static_cast<float>(sum);
  out[2] = large > one && large != one && -one < one;
}

__global__ void bfloats(float* out, const __nv_bfloat16* a, __nv_bfloat16* sum) {
  if (threadIdx.x == 0) {
    out[0] = __bfloat162float(__hfma(a[0], a[1], a[2]));
    out[1] = __bfloat162float(a[0] / a[1]);
    const __nv_bfloat162 pair = __hadd2(__bfloat162bfloat162(a[0]), __halves2bfloat162(a[1], a[2]));
    out[2] = __low2float(pair);
    out[3] = __high2float(pair);
  }
  atomicAdd(sum, a[3]);
}

}  // namespace

TEST_CASE("each operation of a bfloat16 is rounded") {
  DeviceVector<float> out(3);
  one_lost_bit<<<1, 1>>>(out.data(), __float2bfloat16(256.0f), __float2bfloat16(1.0f));
  CHECK(out.get() == std::vector<float>{0, 0, 1});
}

TEST_CASE("bfloat16") {
  for (const float value : {1.00390625f, 1.01171875f, 3.3895e38f, -0.0f, 1e-40f}) {
    const std::uint32_t bits = [&] {
      std::uint32_t b;
      std::memcpy(&b, &value, sizeof b);
      return b;
    }();
    // the nearer of the two neighbours; the even one in a tie
    const std::uint32_t low = bits & 0xffff0000u, rest = bits & 0xffff;
    const bool up = rest > 0x8000 || (rest == 0x8000 && (low >> 16) % 2 == 1);
    CHECK(__bfloat16_as_ushort(__float2bfloat16(value)) == static_cast<unsigned short>((low >> 16) + up));
  }
  const auto b = [](float v) { return __float2bfloat16(v); };
  DeviceVector<__nv_bfloat16> a({b(1.0078125f), b(0.9921875f), b(-1.0f), b(0.5f)}), sum(1, b(0));
  DeviceVector<float> out(4);
  bfloats<<<1, 32>>>(out.data(), a.data(), sum.data());
  const auto got = out.get();
  CHECK(got[0] == -std::ldexp(1.0f, -14));  // (1 + 2^-7)(1 - 2^-7) - 1
  CHECK(got[1] == 1.015625f);
  CHECK(got[2] == 2);
  CHECK(got[3] == 0.0078125f);
  CHECK(__bfloat162float(sum.get()[0]) == 16);
}
