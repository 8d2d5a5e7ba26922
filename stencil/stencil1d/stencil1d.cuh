// First derivative by a stencil of 9 points.
// d[i] = sum over k = 1..4 of c[k - 1] * (f[i + k] - f[i - k]), with coefficients known at run time. Outside the array
// f is 0. With c = {4/5, -1/5, 4/105, -1/280} d is an eighth-order approximation of the first derivative of f.
// practice: easy, next conv1d
#pragma once
#include "ladder.cuh"

#include <cmath>

constexpr int kRadius = 4;

class Stencil1d : public ladder::Problem {
 public:
  // f and d have n elements, c has kRadius. Arrays don't overlap and need not be 16-byte aligned. n may be 0.
  using Launch = void (*)(const float* f, const float* c, float* d, std::size_t n);

  explicit Stencil1d(Launch launch) : launch_(launch) {}

  const char* family() const override { return "stencil"; }
  const char* kernel() const override { return "stencil1d"; }
  std::vector<ladder::Dim> dims() const override { return {{"n", 1 << 26, 100003, std::size_t{1} << 36}}; }
  std::vector<ladder::Buffer> buffers(const ladder::Size& size) const override {
    return {ladder::input<float>("f", size[0]), ladder::input<float>("c", kRadius),
            ladder::output<float>("d", size[0])};
  }
  void run(const ladder::Arrays& device, const ladder::Size& size) const override {
    launch_(device.at<const float>(0), device.at<const float>(1), device.at<float>(2), size[0]);
  }

  // scale = sum of |c| (|f| + |f|)
  void expect(const ladder::Arrays& host, const ladder::Size& size, const ladder::Range& range, double* want,
              double* scale) const override {
    const float *f = host.at<const float>(0), *c = host.at<const float>(1);
    for (std::size_t i = range.begin; i < range.end; ++i) {
      double sum = 0, magnitude = 0;
      for (std::size_t k = 1; k <= kRadius; ++k) {
        const double right = i + k < size[0] ? f[i + k] : 0, left = i >= k ? f[i - k] : 0;
        sum += c[k - 1] * (right - left);
        magnitude += std::fabs(c[k - 1]) * (std::fabs(right) + std::fabs(left));
      }
      want[i - range.begin] = sum;
      scale[i - range.begin] = magnitude;
    }
  }

  // A sum of 8 products in any order is off by at most gamma_8 sum |c| |f|, gamma_n = n u / (1 - n u) (Higham, Accuracy
  // and Stability of Numerical Algorithms, 2nd ed., (3.5)); if differences are computed first, by less.
  double tolerance(const ladder::Size&) const override {
    constexpr double nu = 2 * kRadius * ladder::kUnitRoundoff;
    return nu / (1 - nu);
  }

  std::vector<ladder::Pattern> patterns() const override {
    return {{"random", false, ladder::patterns::random},
            {"integer", true, ladder::patterns::integers},
            {"tail", true, tail_of_f},
            {"NaN in the middle", false, nan_in_f},
            {"one infinity", false, infinity_in_f}};
  }
  std::vector<ladder::Size> test_sizes() const override { return ladder::awkward_lengths(); }
  std::vector<ladder::Size> huge_sizes() const override { return {{(std::size_t{1} << 31) + 1029}}; }
  std::vector<ladder::Size> bench_sizes() const override {
    return {{1 << 24}, {1 << 26}, {1 << 28}, {std::size_t{1} << 30}};
  }
  double flops(const ladder::Size& size) const override { return 3.0 * kRadius * static_cast<double>(size[0]); }

 private:
  static double tail_of_f(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    return buffer == 0 ? ladder::patterns::tail(seed, buffer, i, n) : ladder::patterns::integers(seed, buffer, i, n);
  }
  static double nan_in_f(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    const bool here = buffer == 0 && i == n / 2;
    return here ? std::numeric_limits<double>::quiet_NaN() : ladder::patterns::random(seed, buffer, i, n);
  }
  static double infinity_in_f(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    const bool here = buffer == 0 && i == n / 3;
    return here ? std::numeric_limits<double>::infinity() : ladder::patterns::random(seed, buffer, i, n);
  }

  Launch launch_;
};
