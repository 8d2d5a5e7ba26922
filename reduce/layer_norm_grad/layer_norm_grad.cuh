// Gradient of layer normalisation.
// The forward pass computes y = x^ gamma + beta with x^ = (x - mean) rstd and saves mean and rstd = 1 / sqrt(variance +
// epsilon) of each row of a row-major rows x cols matrix. From the gradient dy of y:
//   dx_c = rstd (g_c - mean of g - x^_c * mean of (g x^)), with g = dy gamma and means over the row;
//   dgamma_c = the sum of dy x^ over the rows, dbeta_c = the sum of dy; both are 0 for rows = 0.
// Any order of additions is right. NaN in x or dy makes its row of dx and its column's dgamma NaN; in dy, dbeta too.
// practice: hard, next cross_entropy
#pragma once
#include "../reduction.cuh"
#include "runner/parallel.hpp"

#include <cmath>

class LayerNormGrad : public ladder::Problem {
 public:
  // x, dy, dx: rows * cols floats without gaps; mean, rstd: one per row; gamma, dgamma, dbeta: one per column. No
  // overlap, any alignment. Either length may be 0; rows < 2^31, cols <= 2^28.
  using Launch = void (*)(const float* x, const float* dy, const float* gamma, const float* mean, const float* rstd,
                          float* dx, float* dgamma, float* dbeta, std::size_t rows, std::size_t cols);

  // The largest number of additions that an element passes through on its way into a sum over its row.
  using Height = std::size_t (*)(std::size_t cols);

  explicit LayerNormGrad(Launch launch, Height height = any_order) : launch_(launch), height_(height) {}

  const char* family() const override { return "reduce"; }
  const char* kernel() const override { return "layer_norm_grad"; }
  std::vector<ladder::Dim> dims() const override {
    return {{"rows", 16384, 301, (std::size_t{1} << 31) - 1}, {"cols", 4096, 517, std::size_t{1} << 28}};
  }
  std::vector<ladder::Buffer> buffers(const ladder::Size& size) const override {
    if (static_cast<double>(size[0]) * static_cast<double>(size[1]) > 1e12) {
      throw ladder::UsageError("--rows: a matrix of " + std::to_string(size[0]) + " rows is too large");
    }
    const std::size_t n = size[0] * size[1];
    return {ladder::input<float>("x", n),
            ladder::input<float>("dy", n),
            ladder::input<float>("gamma", size[1]),
            ladder::input<float>("mean", size[0]),
            ladder::input<float>("rstd", size[0]),
            ladder::output<float>("dx", n),
            ladder::output<float>("dgamma", size[1]),
            ladder::output<float>("dbeta", size[1])};
  }
  void run(const ladder::Arrays& device, const ladder::Size& size) const override {
    launch_(device.at<const float>(0), device.at<const float>(1), device.at<const float>(2), device.at<const float>(3),
            device.at<const float>(4), device.at<float>(5), device.at<float>(6), device.at<float>(7), size[0], size[1]);
  }

  // Returns for each row the means of g and g x^, then the means of their magnitudes.
  std::vector<double> digest(const ladder::Arrays& host, const ladder::Size& size) const override {
    std::vector<double> digest(4 * size[0]);
    ladder::parallel_for(size[0], 1 + (1 << 16) / (size[1] + 1), [&](std::size_t begin, std::size_t end) {
      for (std::size_t r = begin; r < end; ++r) {
        double sums[4] = {};
        for (std::size_t c = 0; c < size[1]; ++c) {
          const double g = dy(host, size, r, c) * host.at<const float>(2)[c], v = normalised(host, size, r, c);
          sums[0] += g;
          sums[1] += g * v;
          sums[2] += std::fabs(g);
          sums[3] += std::fabs(g * v);
        }
        for (int i = 0; i < 4; ++i) digest[4 * r + i] = sums[i] / static_cast<double>(size[1]);
      }
    });
    return digest;
  }

  // Errors to first order, in units of u = 2^-24; h: height(cols).
  // The error of x^ is 2 |x^|, of g |g|, of g x^ 4 |g x^|. A mean also has the additions of a sum (Higham, Accuracy and
  // Stability of Numerical Algorithms, 2nd ed., section 4.2), and cols and the division by it are rounded: the error of
  // the mean of g is (h + 3) mean |g|, that of the mean of g x^ (h + 6) mean |g x^|. The product x^ * mean adds 3; two
  // subtractions and the product with rstd add 1 each to all terms. So the error of dx is at most (h + 12) rstd (|g| +
  // mean |g| + |x^| mean |g x^|). dgamma: 3 per term and a sum of `rows` terms in any order. dbeta: that sum alone.
  void expect(const ladder::Arrays& host, const ladder::Size& size, const ladder::Range& range, double* want,
              double* scale) const override {
    if (range.buffer == 5) {
      const double bound = tree_bound(height_(size[1]) + 12);
      for (std::size_t k = range.begin; k < range.end; ++k) {
        const std::size_t r = k / size[1], c = k % size[1];
        const double* means = &host.digest()[4 * r];
        const double g = dy(host, size, r, c) * host.at<const float>(2)[c], v = normalised(host, size, r, c);
        const double factor = host.at<const float>(4)[r];
        want[k - range.begin] = factor * (g - means[0] - v * means[1]);
        scale[k - range.begin] =
            bound * std::fabs(factor) * (std::fabs(g) + means[2] + std::fabs(v) * means[3]) + ladder::kEitherZero;
      }
      return;
    }
    const std::size_t columns = range.end - range.begin;
    const bool is_gamma = range.buffer == 6;
    const double bound = tree_bound(any_order(size[0]) + (is_gamma ? 3 : 0));
    std::fill(want, want + columns, 0.0);
    std::fill(scale, scale + columns, ladder::kEitherZero);
    for (std::size_t r = 0; r < size[0]; ++r) {
      for (std::size_t c = range.begin; c < range.end; ++c) {
        const double term = dy(host, size, r, c) * (is_gamma ? normalised(host, size, r, c) : 1);
        want[c - range.begin] += term;
        scale[c - range.begin] += bound * std::fabs(term);
      }
    }
  }
  double tolerance(const ladder::Size&) const override { return 1; }

  std::vector<ladder::Pattern> patterns() const override {
    return {{"random", false, with_rows<ladder::patterns::random>},
            {"outliers", false, with_rows<outliers>},
            {"1e4 + noise", false, far_from_0},
            {"0.1 everywhere", false, tenths},
            {"one NaN in x", false, with_rows<one_nan<0>>},
            {"one NaN in dy", false, with_rows<one_nan<1>>}};
  }
  // Empty; single rows and columns; lengths near a warp, a block and the elements it keeps; more rows than resident
  // blocks.
  std::vector<ladder::Size> test_sizes() const override {
    std::vector<ladder::Size> sizes = {{0, 0},   {0, 7},  {7, 0},   {1, 1},    {700, 1},  {11, 2},
                                       {600, 3}, {67, 4}, {301, 7}, {2, 1031}, {301, 36}, {300, 132}};
    for (const std::size_t cols : {31, 32, 33, 64, 65, 100, 127, 128}) sizes.push_back({9, cols});
    for (const std::size_t cols : {255, 256, 257, 511, 513, 1023, 1024, 1025, 1028}) sizes.push_back({5, cols});
    for (const std::size_t cols : {2052, 4095, 4096, 4097, 4100}) sizes.push_back({3, cols});
    sizes.insert(sizes.end(), {{19, 516}, {70, 1300}, {40, 4500}, {1, 8196}, {33, 28929}});
    return sizes;
  }
  std::vector<ladder::Size> huge_sizes() const override {
    return {{(1 << 21) + 5, 1028}, {1025, (1 << 21) + 4}, {(1 << 27) + 5, 17}};
  }
  std::vector<ladder::Size> bench_sizes() const override {
    return {{32768, 1024}, {16384, 4096}, {8192, 8192}, {262144, 128}};
  }
  double flops(const ladder::Size& size) const override {  // x^ 2, g, two sums 3, dx 4, two column sums 3
    return 13.0 * static_cast<double>(size[0]) * static_cast<double>(size[1]);
  }

 private:
  static double dy(const ladder::Arrays& host, const ladder::Size& size, std::size_t r, std::size_t c) {
    return host.at<const float>(1)[r * size[1] + c];
  }
  static double normalised(const ladder::Arrays& host, const ladder::Size& size, std::size_t r, std::size_t c) {
    const double x = host.at<const float>(0)[r * size[1] + c];
    return (x - host.at<const float>(3)[r]) * host.at<const float>(4)[r];
  }

  // rstd, buffer 4, is from 0.5 to 2.5.
  template <double (*kValue)(std::uint64_t, std::size_t, std::size_t, std::size_t)>
  static double with_rows(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    return buffer == 4 ? 1.5 + ladder::patterns::random(seed, buffer, i, n) : kValue(seed, buffer, i, n);
  }
  // One element in 16 is 64 times as large, so a sum that misses one of them is clearly wrong.
  static double outliers(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    return (ladder::hash(seed, buffer + 7, i) % 16 == 0 ? 64 : 1) * ladder::patterns::random(seed, buffer, i, n);
  }
  static double far_from_0(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    return (buffer == 0 || buffer == 3 ? 1e4 : 0) + with_rows<ladder::patterns::random>(seed, buffer, i, n);
  }
  static double tenths(std::uint64_t, std::size_t buffer, std::size_t, std::size_t) { return buffer == 3 ? 0 : 0.1; }
  template <std::size_t kBuffer>
  static double one_nan(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    return buffer == kBuffer ? ladder::patterns::one_nan(seed, buffer, i, n)
                             : ladder::patterns::random(seed, buffer, i, n);
  }

  Launch launch_;
  Height height_;
};
