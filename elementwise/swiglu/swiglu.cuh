// SwiGLU in BF16: y[i] = silu(a[i]) * b[i].
// a is the gate and b the up projection of a language model's MLP; silu(a) = a / (1 + exp(-a)). y is computed in FP32
// and rounded to BF16 once, to nearest, ties to even. A gate of -infinity gives NaN, as in PyTorch.
// practice: easy, next gelu
#pragma once
#include "../elementwise.cuh"

#include <cuda_bf16.h>

class Swiglu : public Elementwise {
 public:
  // a, b and y hold n elements and do not overlap. 2-byte alignment is enough. n = 0 does nothing.
  using Launch = void (*)(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* y, std::size_t n);

  explicit Swiglu(Launch launch) : launch_(launch) {}

  const char* kernel() const override { return "swiglu"; }
  std::vector<ladder::Buffer> buffers(const ladder::Size& size) const override {
    return {ladder::input<__nv_bfloat16>("a", size[0]), ladder::input<__nv_bfloat16>("b", size[0]),
            ladder::output<__nv_bfloat16>("y", size[0])};
  }
  void run(const ladder::Arrays& device, const ladder::Size& size) const override {
    launch_(device.at<const __nv_bfloat16>(0), device.at<const __nv_bfloat16>(1), device.at<__nv_bfloat16>(2), size[0]);
  }

  // The error E before rounding, with u = 2^-24: 4 u of expf, one rounding each in the addition, the division and the
  // product, 1 u for second-order terms. If expf overflows or the quotient is subnormal, silu's error is the smallest
  // normal times max(1, |a|), and the product's is |b| times that; a subnormal product adds 2^-149. The result is one
  // of the BF16 numbers from BF16(y - E) to BF16(y + E), because rounding is monotonic.
  void expect(const ladder::Arrays& host, const ladder::Size&, const ladder::Range& range, double* want,
              double* scale) const override {
    for (std::size_t i = range.begin; i < range.end; ++i) {
      const double a = static_cast<float>(host.at<const __nv_bfloat16>(0)[i]);
      const double b = static_cast<float>(host.at<const __nv_bfloat16>(1)[i]);
      const double exact = a / (1 + std::exp(-a)) * b;
      const double error = 8 * ladder::kUnitRoundoff * std::fabs(exact) + ladder::kEitherZero +
                           std::numeric_limits<float>::min() * std::fmax(1.0, std::fabs(a)) * std::fabs(b);
      double &w = want[i - range.begin], &s = scale[i - range.begin];
      w = to_bf16(exact);
      s = std::isfinite(w) ? std::fmax(to_bf16(exact + error) - w, w - to_bf16(exact - error)) : 0;
    }
  }
  double tolerance(const ladder::Size&) const override { return 1; }

  std::vector<ladder::Pattern> patterns() const override {
    return {{"random", false, ladder::patterns::random}, {"special", false, special}, {"wide", false, wide}};
  }
  double flops(const ladder::Size& size) const override { return 5.0 * static_cast<double>(size[0]); }

 private:
  static double to_bf16(double value) { return static_cast<float>(__double2bfloat16(value)); }

  // Every pair of special numbers. No gate is between -745 and -88, where expf overflows and silu is too small for a
  // float: its product with infinity may be infinite or NaN. "wide" tests such gates with finite numbers.
  static double special(std::uint64_t, std::size_t buffer, std::size_t i, std::size_t) {
    constexpr double infinity = std::numeric_limits<double>::infinity(), most = 0x1.fep127, least = 0x1p-133;
    constexpr double values[] = {
        0.0,  -0.0, least, -least, 0x1p-126,  -0x1p-126, 1.0,       -1.0,
        80.0, -80., 100.0, most,   0x1.02p+0, infinity,  -infinity, std::numeric_limits<double>::quiet_NaN()};
    constexpr std::size_t count = sizeof values / sizeof *values;
    return values[(buffer == 0 ? i : i / count) % count];
  }
  // Numbers from -128 to 128, which include silu's tails.
  static double wide(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    return 128 * ladder::patterns::random(seed, buffer, i, n);
  }

  Launch launch_;
};
