// Base of the softmax kernels and of cross_entropy: vectors inside an array, and for each vector x of them
//   y_i = exp(x_i - m) / sum_j exp(x_j - m),   m = max_j x_j.
// Mathematically any m gives the same result; with the maximum nothing overflows and no sum is 0.
//
// Decided, as in PyTorch: a vector of only -inf gives NaN, one -inf beside other values gives 0 there, +inf or NaN
// gives NaN everywhere. This follows from the formula: exp(-inf - m) is 0 for finite m, and the sum keeps a NaN that
// max drops.
#pragma once
#include "ladder.cuh"
#include "runner/parallel.hpp"

#include <algorithm>
#include <cmath>

class SoftmaxProblem : public ladder::Problem {
 public:
  // A bound for any order: exp and division (5), then at most `length` merges of exp (4), product and addition.
  static std::size_t any_roundings(std::size_t length) { return 5 + 6 * length; }

  // Returns a bound on the relative rounding errors in one y of a vector of `length` elements, in units of u = 2^-24.
  using Roundings = std::size_t (*)(std::size_t length);

  explicit SoftmaxProblem(Roundings roundings) : roundings_(roundings) {}

  const char* family() const override { return "softmax"; }

  std::vector<ladder::Buffer> buffers(const ladder::Size& size) const override {
    const Vectors v = vectors(size);
    if (static_cast<double>(v.count) * static_cast<double>(v.length) > 1e15) {
      throw ladder::UsageError("--" + std::string(dims().back().name) + ": the array is too large");
    }
    return {ladder::input<float>("x", v.count * v.length), ladder::output<float>("y", v.count * v.length)};
  }

  // Returns for each vector the maximum m, the sum of exp(x - m), and the mean of |x - m| weighted by y.
  std::vector<double> digest(const ladder::Arrays& host, const ladder::Size& size) const override {
    const Vectors v = vectors(size);
    const float* x = host.at<const float>(0);
    std::vector<double> digest(3 * v.count);
    // Vectors are cut into pieces for all cores; columns are read in blocks of neighbours, so reads are contiguous.
    const std::size_t width = v.stride == 1 ? 1 : 64, piece = std::min<std::size_t>(std::size_t{1} << 16, v.length);
    const std::size_t blocks = ceil_div(v.count, width), pieces = v.length == 0 ? 0 : ceil_div(v.length, piece);
    std::vector<double> max(v.count * pieces, -std::numeric_limits<double>::infinity()), sum(v.count * pieces, 0.0),
        distance(v.count * pieces, 0.0);
    const auto for_elements = [&](const auto& body) {  // body(vector, index in the arrays above, element)
      ladder::parallel_for(blocks * pieces, 1, [&](std::size_t begin, std::size_t end) {
        for (std::size_t item = begin; item < end; ++item) {
          const std::size_t first = item / pieces * width, last = std::min(first + width, v.count);
          const std::size_t p = item % pieces;
          for (std::size_t j = p * piece; j < std::min((p + 1) * piece, v.length); ++j) {
            for (std::size_t i = first; i < last; ++i) body(i, i * pieces + p, x[i * v.next + j * v.stride]);
          }
        }
      });
    };
    for_elements(
        [&](std::size_t, std::size_t place, float value) { max[place] = std::max<double>(max[place], value); });
    for (std::size_t i = 0; i < v.count; ++i) {
      digest[3 * i] = pieces == 0 ? 0 : *std::max_element(max.begin() + i * pieces, max.begin() + (i + 1) * pieces);
    }
    for_elements([&](std::size_t i, std::size_t place, float value) {
      const double t = value - digest[3 * i], e = std::exp(t);
      sum[place] += e;
      if (e > 0) distance[place] -= e * t;
    });
    for (std::size_t i = 0; i < v.count; ++i) {
      for (std::size_t p = 0; p < pieces; ++p) {
        digest[3 * i + 1] += sum[i * pieces + p];
        digest[3 * i + 2] += distance[i * pieces + p];
      }
      digest[3 * i + 2] /= digest[3 * i + 1];
    }
    return digest;
  }

  void expect(const ladder::Arrays& host, const ladder::Size& size, const ladder::Range& range, double* want,
              double* scale) const override {
    const Vectors v = vectors(size);
    for (std::size_t k = range.begin; k < range.end; ++k) {
      const double* d = host.digest().data() + 3 * (v.stride == 1 ? k / v.length : k % v.count);
      const double t = host.at<const float>(0)[k] - d[0], y = std::exp(t) / d[1];
      const bool vanishes = y < kSmallestFloat / 2;
      want[k - range.begin] = vanishes ? 0 : y;
      scale[k - range.begin] = (vanishes ? 0 : y * (1 + (std::fabs(t) + d[2]) / kLeastRoundings)) +
                               8 * kSmallestFloat / (kLeastRoundings * ladder::kUnitRoundoff);
    }
  }

  // Relative errors, to first order, in units of u. exp is off by at most 2 ulp = 4 u (CUDA C++ Programming Guide). The
  // subtraction rounds its argument by u |x_i - m|, which adds |x_i - m|. The sum is off by 4 + h plus the mean of |x_j
  // - m| weighted by y_j; h: additions that a term passes through (Higham, Accuracy and Stability of Numerical
  // Algorithms, 2nd ed., 4.2). Division and products add 1 each. In a product exp(x_i - m') exp(m' - m), m' < m, the
  // arguments' errors add up to no more; the second exp adds 4 and the product 1. So the bound is u (roundings + |x_i -
  // m| + mean), and tolerance() times the scale is no less, because roundings >= kLeastRoundings. Results and factors
  // below 2^-126 are multiples of 2^-149.
  double tolerance(const ladder::Size& size) const override {
    const double nu = static_cast<double>(roundings_(vectors(size).length)) * ladder::kUnitRoundoff;
    return nu < 0.01 ? nu / (1 - nu) : nu;  // for long sums, Rump's bound (BIT 52, 2012) has no higher orders
  }
  static constexpr std::size_t kLeastRoundings = 8;  // one exp in the numerator, one in the denominator

  // Returns true if each vector of "one hot" has one element that outweighs all others.
  bool exact(const ladder::Size& size) const override {
    const Vectors v = vectors(size);
    return v.length * v.stride <= std::size_t{1} << 24;
  }

  std::vector<ladder::Pattern> patterns() const override {
    std::vector<ladder::Pattern> all = ordinary_patterns();
    all.insert(all.end(), {{"extremes", false, extremes},
                           {"-inf here and there", false, masked},
                           {"-inf in a block", false, block},
                           {"one NaN", false, one_nan}});
    return all;
  }
  double flops(const ladder::Size& size) const override {
    return 5 * bytes(size) / 8;
  }  // max, subtract, exp, add, scale

 protected:
  // Patterns without -inf and -FLT_MAX, which may be all that a short vector has.
  static std::vector<ladder::Pattern> ordinary_patterns() {
    return {{"random", false, spread},         {"one hot", true, one_hot},      {"rising", false, rising},
            {"equal", false, equal},           {"thousands", false, thousands}, {"huge negative", false, huge_negative},
            {"one +inf", false, one_infinity}, {"tenths", false, tenths}};
  }

  // Element j of vector i is x[i * next + j * stride]; one of next and stride is 1.
  struct Vectors {
    std::size_t count, length, next, stride;
  };
  virtual Vectors vectors(const ladder::Size& size) const = 0;

  static constexpr double kSmallestFloat = std::numeric_limits<float>::denorm_min();
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();

  static double spread(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    return 8 * ladder::patterns::random(seed, buffer, i, n);
  }
  // Elements 128 apart: the last one of a row gives 1, the others exactly 0 (up to 2^24).
  static double one_hot(std::uint64_t, std::size_t, std::size_t i, std::size_t) {
    return 128.0 * static_cast<double>(i % (1 << 24));
  }
  // Each element is a new maximum, and the last few hundred of a row contribute.
  static double rising(std::uint64_t, std::size_t, std::size_t i, std::size_t) {
    return static_cast<double>(i % (1 << 24)) / 16;
  }
  // The terms of the sum are 1 and 0.1, so rounding errors of a running sum have the same sign for long.
  static double tenths(std::uint64_t, std::size_t, std::size_t i, std::size_t) { return i % 64 == 0 ? 0 : -2.3025851; }
  static double equal(std::uint64_t, std::size_t, std::size_t, std::size_t) { return 3; }
  static double thousands(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    return ladder::hash(seed, buffer, i) % 2 ? 1000 + spread(seed, buffer, i, n) : -1000;
  }
  // Below usual finite start values of a maximum, such as -1e30.
  static double huge_negative(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t) {
    return ladder::hash(seed, buffer, i) % 2 ? -3.4e38 : -3.3e38;
  }
  static double extremes(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t) {
    constexpr float max = std::numeric_limits<float>::max();
    const float values[] = {max, -max, 0.0f, -0.0f, std::numeric_limits<float>::denorm_min(), 88.8f, -104.0f};
    return values[ladder::hash(seed, buffer, i) % 7];
  }
  static double masked(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    return ladder::hash(seed, buffer, i + n) % 3 == 0 ? -kInfinity : spread(seed, buffer, i, n);
  }
  // Half of the array: short vectors in the middle are all -inf.
  static double block(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    return i >= n / 4 && i < n - n / 4 ? -kInfinity : spread(seed, buffer, i, n);
  }
  static double one_infinity(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    return i == n / 2 ? kInfinity : spread(seed, buffer, i, n);
  }
  static double one_nan(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    return i == n / 2 ? std::numeric_limits<double>::quiet_NaN() : masked(seed, buffer, i, n);
  }

 private:
  Roundings roundings_;
};
