// The dot product of two arrays of n floats.
// out[0] = x[0] y[0] + ... + x[n-1] y[n-1], 0 for n = 0. Any order, with or without FMA. NaN and infinities propagate.
// practice: medium, next max
#pragma once
#include "../reduction.cuh"

#include <cmath>

class Dot : public Reduction {
 public:
  // x and y hold n floats, out one. Neither x nor y need be 16-byte aligned.
  using Launch = void (*)(const float* x, const float* y, float* out, std::size_t n);

  // The largest number of additions that a product passes through on its way into the result.
  using Height = std::size_t (*)(std::size_t n);

  // The default height holds for any order of additions.
  explicit Dot(Launch launch, Height height = any_order) : launch_(launch), height_(height) {}

  const char* kernel() const override { return "dot"; }
  std::vector<ladder::Buffer> buffers(const ladder::Size& size) const override {
    return {ladder::input<float>("x", size[0]), ladder::input<float>("y", size[0]), ladder::output<float>("out", 1)};
  }
  void run(const ladder::Arrays& device, const ladder::Size& size) const override {
    launch_(device.at<const float>(0), device.at<const float>(1), device.at<float>(2), size[0]);
  }

  // want = the sum, scale = the sum of magnitudes. Summing in pieces keeps double's own error negligible.
  void expect(const ladder::Arrays& host, const ladder::Size& size, const ladder::Range&, double* want,
              double* scale) const override {
    const float *x = host.at<const float>(0), *y = host.at<const float>(1);
    *want = *scale = 0;
    for (std::size_t piece = 0; piece < size[0]; piece += 4096) {
      double sum = 0, magnitude = 0;
      for (std::size_t i = piece; i < std::min<std::size_t>(piece + 4096, size[0]); ++i) {
        const double product = static_cast<double>(x[i]) * y[i];
        sum += product;
        magnitude += std::fabs(product);
      }
      *want += sum;
      *scale += magnitude;
    }
    if (*scale == 0 && size[0] > 0) *scale = ladder::kEitherZero;
  }

  // A product is rounded once unless it is fused, then passes through the additions of the tree: gamma of the tree's
  // height plus one (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., sections 3.1 and 4.2).
  double tolerance(const ladder::Size& size) const override { return tree_bound(height_(size[0]) + 1); }

  // "integer" is exact: products are up to 16, and a random walk of 2^36 steps of 7.5 stays below 2^24.
  std::vector<ladder::Pattern> patterns() const override {
    return {{"random", false, ladder::patterns::random},
            {"integer", true, ladder::patterns::integers},
            {"tail", true, tail},
            {"one NaN", false, ladder::patterns::one_nan},
            {"infinities", false, ladder::patterns::both_infinities},
            {"0.1 everywhere", false, ladder::patterns::tenths}};
  }
  double flops(const ladder::Size& size) const override { return 2.0 * static_cast<double>(size[0]); }

 private:
  // x is 0 except for its last four elements.
  static double tail(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    return buffer == 0 ? ladder::patterns::tail(seed, buffer, i, n) : ladder::patterns::integers(seed, buffer, i, n);
  }

  Launch launch_;
  Height height_;
};
