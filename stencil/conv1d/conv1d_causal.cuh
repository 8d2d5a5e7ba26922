// Causal depthwise convolution.
// out[b][c][t] = bias[c] + sum over j = 0..k-1 of w[c][j] * x[b][c][t - (k - 1) + j], k = 2, 3 or 4. No output depends
// on a later input, as state-space models (Mamba) need it. Before the start x is 0, and these taps are multiplied too,
// so an infinite weight gives NaN there.
// practice: easy, next blur
#pragma once
#include "ladder.cuh"

#include <cmath>

constexpr int kMostCausal = 4;  // taps

class Conv1dCausal : public ladder::Problem {
 public:
  // x and out are batch x channels x length, without gaps; w is channels x k; bias has a float per channel. Arrays do
  // not overlap and need not be 16-byte aligned. k is 2, 3 or 4; batch, channels and length may be 0.
  using Launch = void (*)(const float* x, const float* w, const float* bias, float* out, std::size_t batch,
                          std::size_t channels, std::size_t length, int k);

  explicit Conv1dCausal(Launch launch) : launch_(launch) {}

  const char* family() const override { return "stencil"; }
  const char* kernel() const override { return "conv1d_causal"; }
  // k = 0 means 4.
  std::vector<ladder::Dim> dims() const override {
    return {{"batch", 8, 2, 1 << 20},
            {"channels", 4096, 5, 1 << 20},
            {"length", 4096, 301, std::size_t{1} << 34},
            {"k", 0, 0, kMostCausal}};
  }
  std::vector<ladder::Buffer> buffers(const ladder::Size& size) const override {
    if (taps(size) < 2) throw ladder::UsageError("--k: must be 2, 3 or 4");
    if (static_cast<double>(size[0]) * static_cast<double>(size[1]) * static_cast<double>(size[2]) > 1e13 ||
        size[0] * size[1] >= std::size_t{1} << 31) {
      throw ladder::UsageError("--batch: " + std::to_string(size[0]) + " sequences are too many");
    }
    const std::size_t n = size[0] * size[1] * size[2];
    return {ladder::input<float>("x", n), ladder::input<float>("w", size[1] * taps(size)),
            ladder::input<float>("bias", size[1]), ladder::output<float>("out", n)};
  }
  void run(const ladder::Arrays& device, const ladder::Size& size) const override {
    launch_(device.at<const float>(0), device.at<const float>(1), device.at<const float>(2), device.at<float>(3),
            size[0], size[1], size[2], static_cast<int>(taps(size)));
  }

  // scale = |bias| + sum of |w| |x|
  void expect(const ladder::Arrays& host, const ladder::Size& size, const ladder::Range& range, double* want,
              double* scale) const override {
    const float *x = host.at<const float>(0), *w = host.at<const float>(1), *bias = host.at<const float>(2);
    const std::size_t k = taps(size), length = size[2];
    for (std::size_t n = range.begin; n < range.end; ++n) {
      const std::size_t channel = n / length % size[1], t = n % length;
      double sum = bias[channel], magnitude = std::fabs(sum);
      for (std::size_t j = 0; j < k; ++j) {
        const bool inside = t + j + 1 >= k;
        const double product = static_cast<double>(w[channel * k + j]) * (inside ? x[n + j + 1 - k] : 0);
        sum += product;
        magnitude += std::fabs(product);
      }
      want[n - range.begin] = sum;
      scale[n - range.begin] = magnitude;
    }
  }

  // A sum of k products and the bias, in any order, with or without fma: gamma_(k + 1) of the magnitudes (Higham,
  // Accuracy and Stability of Numerical Algorithms, 2nd ed., (3.5)).
  double tolerance(const ladder::Size& size) const override {
    const double nu = static_cast<double>(taps(size) + 1) * ladder::kUnitRoundoff;
    return nu / (1 - nu);
  }

  std::vector<ladder::Pattern> patterns() const override {
    return {{"random", false, ladder::patterns::random},
            {"integer", true, ladder::patterns::integers},
            {"NaN in x", false, one_special<0, &std::numeric_limits<double>::quiet_NaN>},
            {"one infinite weight", false, one_special<1, &std::numeric_limits<double>::infinity>}};
  }

  // Empty, shorter than the filter, all remainders of the length modulo 4, around tile sizes, many rows.
  std::vector<ladder::Size> test_sizes() const override {
    std::vector<ladder::Size> sizes;
    for (const std::size_t k : {2, 3, 4}) {
      for (const ladder::Size& size : std::initializer_list<ladder::Size>{
               {0, 2, 5},    {2, 0, 5},    {2, 3, 0},    {1, 1, 1},    {2, 3, 2},   {1, 2, 3},   {3, 2, 4},
               {2, 2, 5},    {1, 3, 7},    {2, 5, 8},    {1, 2, 255},  {2, 1, 256}, {1, 3, 257}, {1, 2, 1023},
               {2, 2, 1024}, {1, 2, 1025}, {1, 3, 1028}, {3, 2, 2050}, {70, 33, 9}, {1, 1, 4100}}) {
        sizes.push_back({size[0], size[1], size[2], k});
      }
    }
    sizes.push_back({2, 3, 517, 0});
    return sizes;
  }
  // More than 2^31 elements, in long rows and in short ones.
  std::vector<ladder::Size> huge_sizes() const override { return {{1, 3, 715827900, 4}, {1024, 70001, 30, 3}}; }
  std::vector<ladder::Size> bench_sizes() const override {
    return {{8, 4096, 4096, 4}, {1, 4096, 32768, 4}, {8, 4096, 4095, 4}, {64, 4096, 128, 4}};
  }
  ladder::Size random_size(ladder::Draw& draw, double bytes) const override {
    return draw_lengths(draw, bytes, {0, 0, 0, 2 + draw.below(3)});
  }
  double flops(const ladder::Size& size) const override {
    return 2.0 * static_cast<double>(taps(size)) * static_cast<double>(size[0]) * static_cast<double>(size[1]) *
           static_cast<double>(size[2]);
  }

 private:
  static std::size_t taps(const ladder::Size& size) { return size[3] ? size[3] : 4; }

  template <std::size_t kBuffer, double (*kValue)() noexcept>
  static double one_special(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    return buffer == kBuffer && i == n / 2 ? kValue() : ladder::patterns::random(seed, buffer, i, n);
  }

  Launch launch_;
};
