// Base of the norms: sizes, data patterns, epsilon and error bounds. A norm divides each row of a row-major rows x cols
// matrix by a measure of the row's size, then multiplies column c by gamma[c]. A NaN makes its whole row NaN. An
// infinity makes a row of layer_norm NaN; in the other norms it becomes NaN and the rest of the row 0. No other row
// changes. The sum of a row's squares must not overflow: elements up to 1e15 are safe in rows up to 10^8. epsilon is at
// least 1e-30, so no row divides 0 by 0.
#pragma once
#include "ladder.cuh"
#include "runner/parallel.hpp"

#include <algorithm>
#include <cmath>

class RowNorm : public ladder::Problem {
 public:
  // Returns an upper bound for the roundings that affect one y in a row of `cols` elements; see tolerance().
  using Roundings = std::size_t (*)(std::size_t cols);

  explicit RowNorm(Roundings roundings) : roundings_(roundings) {}

  const char* family() const override { return "reduce"; }
  std::vector<ladder::Dim> dims() const override {
    return {{"rows", 32768, 301, (std::size_t{1} << 31) - 1}, {"cols", 1024, 517, std::size_t{1} << 28}};
  }
  std::vector<ladder::Scalar> scalars() const override { return {{"epsilon", kEpsilon}}; }

  // Relative to the scale that expect() returns.
  double tolerance(const ladder::Size& size) const override {
    const double nu = static_cast<double>(roundings_(size[1])) * ladder::kUnitRoundoff;
    return nu < 0.01 ? nu / (1 - nu) : nu;  // with higher-order terms; long sums need none (Rump, BIT 52, 2012)
  }

  std::vector<ladder::Pattern> patterns() const override {
    return {{"random", false, ladder::patterns::random},
            {"outliers", false, outliers},
            {"1e4 + noise", false, offset<10000>},
            {"100 + noise", false, offset<100>},
            {"equal", false, offset<3>},
            {"tail", false, tail},
            {"small", false, small},
            {"large", false, large},
            {"one NaN", false, one_special<&std::numeric_limits<double>::quiet_NaN>},
            {"one infinity", false, one_special<&std::numeric_limits<double>::infinity>}};
  }

  // Empty matrices; single rows and columns; lengths around powers of two; rows that share a block; rows that need
  // several blocks; rows too long for a block and, on a GPU, for a cluster and for all blocks together.
  std::vector<ladder::Size> test_sizes() const override {
    std::vector<ladder::Size> sizes = {{0, 0},   {0, 7},  {7, 0},   {1, 1},    {2100, 1}, {11, 2},
                                       {700, 3}, {67, 4}, {301, 7}, {2, 1031}, {19, 516}, {5, 16393}};
    for (const std::size_t cols : {5, 8, 16, 17}) sizes.push_back({35, cols});
    for (const std::size_t cols : {31, 32, 33, 64, 65, 100, 127, 128, 132}) sizes.push_back({9, cols});
    for (const std::size_t cols : {255, 256, 260, 511, 513, 1024, 1025, 1028}) sizes.push_back({3, cols});
    for (const std::size_t cols : {2048, 2052, 4097, 8196, 32769, 65540, 131077}) sizes.push_back({2, cols});
#ifndef CUDA_EMU
    for (const std::size_t cols : {4096, 8192, 16384, 32768, 131072, 131076}) sizes.push_back({5, cols});
    for (const std::size_t cols : {32772, 32773}) sizes.push_back({70, cols});
    sizes.push_back({2, 1400004});
    sizes.push_back({1, 1400003});
    sizes.push_back({2, 4000003});
#endif
    return with_epsilon(sizes);
  }
  // More than 2^31 elements in short rows and in long rows; more than 2^27 rows, so 2^32 threads at 32 threads per row.
  std::vector<ladder::Size> huge_sizes() const override {
    return with_epsilon({{(1 << 21) + 5, 1028}, {1025, (1 << 21) + 4}, {(1 << 27) + 5, 4}});
  }
  std::vector<ladder::Size> bench_sizes() const override {
    return with_epsilon({{65536, 128}, {32768, 1024}, {16384, 4096}, {8192, 8192}, {4096, 32768}, {1024, 131072}});
  }

 protected:
  static constexpr float kEpsilon = 1e-5f;

  // Throws UsageError for sizes that no step accepts.
  static void require(const ladder::Size& size) {
    if (static_cast<double>(size[0]) * static_cast<double>(size[1]) > 1e15) {
      throw ladder::UsageError("--rows: a matrix of " + std::to_string(size[0]) + " rows is too large");
    }
    if (!(size.scalars[0] >= 1e-30f)) throw ladder::UsageError("--epsilon: must be at least 1e-30");
  }
  // Relative error of 1 / sqrt(v + epsilon) in units of u: half the addition's plus rsqrtf's 2 ulp, rounded up.
  static constexpr std::size_t kRsqrt = 5;

  // Returns the roundings of y = x / sqrt(mean of x^2 + epsilon) * gamma, in units of u of y: half of those of the mean
  // of squares (`height` additions, a square, cols, a division; Higham, Accuracy and Stability of Numerical Algorithms,
  // 2nd ed., section 4.2), kRsqrt, and two products.
 public:
  static std::size_t by_root_mean_square(std::size_t height) { return (height + 3) / 2 + 1 + kRsqrt + 2; }

  // The functions below return the roundings for tolerance(), by the method a step uses for mean and variance. Errors
  // are to first order, in units of u, with z = (x - mean) / s; `height` is the longest chain of additions into a row's
  // sum (Higham, sections 1.9 and 4.2).
  // y = (x - mean) q gamma + beta, with q = 1 / s. An error delta in the mean and a relative error rho in q give an
  // error of |gamma| (delta / s + |z| (rho + 4)) + 2 |beta| in y: a subtraction, two products and the sum.
  // Two passes: delta = (height + 3) X, since cols and the division by it are rounded too. The mean of (x - mean -
  // delta)^2 is variance + delta^2, so q is smaller by a share of at most 0.71 delta / s. That mean has a relative
  // error of another (height + 6), and q of half of that plus 5 (kRsqrt). So the error of y is |gamma| ((height + 3) X
  // / s (1 + |z|) + |z| (height / 2 + 12)) + 2 |beta|, at most height + 12 times the scale of LayerNorm::expect().
  static std::size_t two_passes(std::size_t height) { return height + 12; }

  // Parts of a row, each by two passes; then, `levels` times, the mean of the parts' means and the squared distances
  // from it. Each mean has an error of delta = (height + 3 levels + 3) X. The root of a sum of squares is a length, so
  // by the triangle inequality its error is at most (1 + 2 levels) delta.
  static std::size_t parts(std::size_t height, std::size_t levels) {
    return (1 + 2 * levels) * (height + 3 * levels + 12);
  }

  // Welford's update and Chan's merge: `chain` updates in a thread, then `tree` levels of merges. A merge moves the
  // mean by share * d, where d is a distance of two means, at most 2 X, with four roundings, and rounds the mean, at
  // most X, once. Shares are 1, 1/2, 1/3 ... in a chain and at most 1/2 in a tree, so delta is at most (chain + tree +
  // 8 (1 + ln chain + tree / 2)) X. The sum of squares adds w d^2 over all merges, with weights w below 1 in a chain
  // and a quarter of the elements per level of a tree; each d has an error of 2 delta. By the triangle inequality the
  // deviation has an error of 2 delta sqrt(1 + tree / 4), and q twice that share while the share is below a half.
  static std::size_t welford(std::size_t chain, std::size_t tree) {
    const double c = static_cast<double>(chain), t = static_cast<double>(tree);
    return static_cast<std::size_t>(4 * std::sqrt(1 + t / 4) * (c + t + 8 * (1 + std::log(c + 1) + t / 2)) + 12);
  }

  // The most roundings of any candidate of the programs for any shape. Rows of up to kLongRow elements: a thread adds
  // up to 8 float4 with two levels in each, and an edge element; its warp adds 5 levels; up to 32 warps merge. Longer
  // rows: up to 16 float4 and an edge element, 5 levels, then up to six levels of merges. Four of these are over lanes
  // or warps, with 5 additions each. Two are chains of Chan's merges in a thread, over tiles or blocks' parts of at
  // least 2^16 elements each, which move the mean as welford() says.
  static constexpr std::size_t kLongRow = 16384;
  static std::size_t any_shape(std::size_t cols) {
    if (cols <= kLongRow) return parts(8 + 2 + 1 + 5 + 5, 1);
    const double chain = 2 + static_cast<double>(cols) / 65536;
    return parts(16 + 2 + 1 + 4 * 5 + static_cast<std::size_t>(chain + 2 * 8 * (1 + std::log(chain + 1))), 6);
  }
  static std::size_t any_shape_by_root_mean_square(std::size_t cols) {
    return by_root_mean_square(cols <= kLongRow ? 8 + 2 + 1 + 5 + 5 : 16 + 2 + 1 + 4 * 5 + 5 + 2 + cols / 65536);
  }

  // At least what the functions above return: a chain of all elements, and as many merge levels as halve the row.
  static std::size_t any_order(std::size_t cols) {
    std::size_t levels = 1;
    while (cols >> levels) ++levels;
    return std::max(welford(cols, levels), parts(ceil_div(cols, 32) + 5, 5));
  }

 protected:
  // Returns sqrt(mean of squares + epsilon) of a row with the elements at(0), at(1), ...
  template <typename At>
  static double root_mean_square(const ladder::Size& size, const At& at) {
    double squares = 0;
    for (std::size_t c = 0; c < size[1]; ++c) squares += static_cast<double>(at(c)) * at(c);
    return std::sqrt(squares / static_cast<double>(size[1]) + size.scalars[0]);
  }

  // Returns `count` numbers per row, computed by body(row, numbers).
  template <typename Body>
  static std::vector<double> for_rows(const ladder::Size& size, std::size_t count, const Body& body) {
    std::vector<double> numbers(count * size[0]);
    ladder::parallel_for(size[0], 1 + (1 << 16) / (size[1] + 1), [&](std::size_t begin, std::size_t end) {
      for (std::size_t r = begin; r < end; ++r) body(r, &numbers[count * r]);
    });
    return numbers;
  }

 private:
  static std::vector<ladder::Size> with_epsilon(std::vector<ladder::Size> sizes) {
    for (ladder::Size& size : sizes) size.scalars = {kEpsilon};
    return sizes;
  }

  static double noise(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    return ladder::patterns::random(seed, buffer, i, n);
  }
  // gamma and beta stay random, whatever x holds.
  template <int kMean>
  static double offset(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    if (buffer > 0) return noise(seed, buffer, i, n);
    return kMean == 3 ? kMean : kMean + noise(seed, buffer, i, n);
  }
  // One element in 16 is 64 times as large, so a sum that misses one of them is clearly wrong.
  static double outliers(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    return (ladder::hash(seed, buffer + 7, i) % 16 == 0 ? 64 : 1) * noise(seed, buffer, i, n);
  }
  static double tail(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    return buffer > 0 ? noise(seed, buffer, i, n) : ladder::patterns::tail(seed, buffer, i, n);
  }
  // x^2 is far below epsilon, so epsilon decides the result.
  static double small(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    return (buffer > 0 ? 1 : 1e-4) * noise(seed, buffer, i, n);
  }
  static double large(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    return (buffer > 0 ? 1 : 1e15) * noise(seed, buffer, i, n);
  }
  template <double (*kValue)() noexcept>
  static double one_special(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    return buffer == 0 && i == n / 2 ? kValue() : noise(seed, buffer, i, n);
  }

  Roundings roundings_;
};
