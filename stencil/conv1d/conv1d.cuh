// Convolution of a signal with a filter of any length.
// out[i] = sum over j = 0..k-1 of w[j] * in[i + j - k/2], k = 1 to 127 taps. As in deep learning it is a correlation:
// the filter is not mirrored. The output is as long as the input. Outside the signal `in` is 0, and these taps are
// multiplied too, so an infinite weight gives NaN there.
// practice: easy, next conv1d_causal
#pragma once
#include "ladder.cuh"

#include <cmath>

constexpr int kMostTaps = 127;

class Conv1d : public ladder::Problem {
 public:
  // in and out have n floats, w has k, 1 to 127. Arrays don't overlap and need not be 16-byte aligned. n may be 0.
  using Launch = void (*)(const float* in, const float* w, float* out, std::size_t n, int k);

  explicit Conv1d(Launch launch) : launch_(launch) {}

  const char* family() const override { return "stencil"; }
  const char* kernel() const override { return "conv1d"; }
  // k = 0 means 5.
  std::vector<ladder::Dim> dims() const override {
    return {{"n", 1 << 26, 100003, std::size_t{1} << 36}, {"k", 0, 0, kMostTaps}};
  }
  std::vector<ladder::Buffer> buffers(const ladder::Size& size) const override {
    return {ladder::input<float>("in", size[0]), ladder::input<float>("w", taps(size)),
            ladder::output<float>("out", size[0])};
  }
  void run(const ladder::Arrays& device, const ladder::Size& size) const override {
    launch_(device.at<const float>(0), device.at<const float>(1), device.at<float>(2), size[0],
            static_cast<int>(taps(size)));
  }

  // scale = sum of |w| |in|
  void expect(const ladder::Arrays& host, const ladder::Size& size, const ladder::Range& range, double* want,
              double* scale) const override {
    const float *in = host.at<const float>(0), *w = host.at<const float>(1);
    const std::size_t k = taps(size);
    for (std::size_t n = range.begin; n < range.end; ++n) {
      double sum = 0, magnitude = 0;
      for (std::size_t j = 0; j < k; ++j) {
        const std::size_t i = n + j - k / 2;  // wraps around below 0
        const double product = static_cast<double>(w[j]) * (i < size[0] ? in[i] : 0);
        sum += product;
        magnitude += std::fabs(product);
      }
      want[n - range.begin] = sum;
      scale[n - range.begin] = magnitude;
    }
  }

  // A sum of k products, in any order, with or without fma, is off by at most gamma_k sum |w| |in|, gamma_k = k u /
  // (1 - k u) (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., (3.5)).
  double tolerance(const ladder::Size& size) const override {
    const double nu = static_cast<double>(taps(size)) * ladder::kUnitRoundoff;
    return nu / (1 - nu);
  }

  std::vector<ladder::Pattern> patterns() const override {
    return {{"random", false, ladder::patterns::random},
            {"integer", true, ladder::patterns::integers},
            {"tail", true, tail_of_signal},
            {"NaN in the signal", false, nan_in_signal},
            {"one infinite weight", false, infinite_weight}};
  }

  // Empty, shorter than the filter, even and odd filters, all remainders of k modulo 4, around tile sizes.
  std::vector<ladder::Size> test_sizes() const override {
    std::vector<ladder::Size> sizes;
    for (const std::size_t k : {1, 2, 3, 4, 5, 7, 9, 16, 31, 126, 127}) {
      for (const std::size_t n : {0, 1, 2, 5, 31, 127, 128, 257}) sizes.push_back({n, k});
    }
    for (const std::size_t k : {3, 6, 17, 127}) {
      for (const std::size_t n : {255, 256, 1023, 1024, 1025, 1027, 2050, 4099}) sizes.push_back({n, k});
    }
    sizes.push_back({40009, 0});
    return sizes;
  }
  std::vector<ladder::Size> huge_sizes() const override { return {{(std::size_t{1} << 31) + 1029, 5}}; }
  std::vector<ladder::Size> bench_sizes() const override {
    return {{1 << 26, 5}, {1 << 28, 5}, {1 << 26, 31}, {1 << 24, 127}};
  }
  ladder::Size random_size(ladder::Draw& draw, double bytes) const override {
    return draw_lengths(draw, bytes, {0, draw.length(kMostTaps)});
  }
  double flops(const ladder::Size& size) const override {
    return 2.0 * static_cast<double>(taps(size)) * static_cast<double>(size[0]);
  }

 private:
  static std::size_t taps(const ladder::Size& size) { return size[1] ? size[1] : 5; }

  static double tail_of_signal(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    return buffer == 0 ? ladder::patterns::tail(seed, buffer, i, n) : ladder::patterns::integers(seed, buffer, i, n);
  }
  static double nan_in_signal(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    const bool here = buffer == 0 && i == n / 2;
    return here ? std::numeric_limits<double>::quiet_NaN() : ladder::patterns::random(seed, buffer, i, n);
  }
  // Infinity times the 0 outside the signal is NaN.
  static double infinite_weight(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    const bool here = buffer == 1 && i == n - 1;
    return here ? std::numeric_limits<double>::infinity() : ladder::patterns::random(seed, buffer, i, n);
  }

  Launch launch_;
};
