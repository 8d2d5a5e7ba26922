// A times its own transpose: C = A A^T.
// A is a row-major m x k matrix: a product whose second operand is read along its columns.
// practice: medium, next sgemm
#pragma once
#include "sampled_rows.cuh"

#include <cmath>

class Aat : public ladder::Problem {
 public:
  // A and C (m x m) are row-major without gaps, at any alignment, and don't overlap. m and k are below 2^31, maybe 0.
  using Launch = void (*)(std::size_t m, std::size_t k, const float* A, float* C);

  explicit Aat(Launch launch) : launch_(launch) {}

  const char* family() const override { return "sgemm"; }
  const char* kernel() const override { return "aat"; }
  std::vector<ladder::Dim> dims() const override {
    constexpr std::size_t most = (std::size_t{1} << 31) - 1;
    return {{"m", 8192, 150, most}, {"k", 32, 40, most}};
  }
  std::vector<ladder::Buffer> buffers(const ladder::Size& size) const override {
    if (static_cast<double>(size[0]) * static_cast<double>(std::max(size[0], size[1])) > 1e15) {
      throw ladder::UsageError("--m: a matrix of " + std::to_string(size[0]) + " rows is too large");
    }
    return {ladder::input<float>("A", size[0] * size[1]), ladder::output<float>("C", size[0] * size[0])};
  }
  void run(const ladder::Arrays& device, const ladder::Size& size) const override {
    launch_(size[0], size[1], device.at<const float>(0), device.at<float>(1));
  }
  void expect(const ladder::Arrays& host, const ladder::Size& size, const ladder::Range& range, double* want,
              double* scale) const override {
    const std::size_t m = size[0], k = size[1];
    const float* A = host.at<const float>(0);
    for (std::size_t i = range.begin; i < range.end; ++i) {
      const float *row = A + i / m * k, *column = A + i % m * k;
      const bool known = is_sampled_row(m, m, k, i / m);  // otherwise any finite number passes
      double sum = 0, magnitude = known ? 0 : std::numeric_limits<double>::infinity();
      for (std::size_t l = 0; l < k && known; ++l) {
        const double product = static_cast<double>(row[l]) * column[l];
        sum += product;
        magnitude += std::fabs(product);
      }
      want[i - range.begin] = sum;
      scale[i - range.begin] = magnitude == 0 && k > 0 ? ladder::kEitherZero : magnitude;
    }
  }
  // The bound gamma_k |A| |A^T|; sgemm.cuh derives it.
  double tolerance(const ladder::Size& size) const override {
    const double ku = static_cast<double>(size[1]) * ladder::kUnitRoundoff;
    return ku < 0.01 ? ku / (1 - ku) : ku;
  }

  // Nothing cancels on the diagonal: its terms are squares of 1 to 4, 7.5 on average.
  bool exact(const ladder::Size& size) const override { return 8 * size[1] <= std::size_t{1} << 24; }

  std::vector<ladder::Pattern> patterns() const override {
    return {{"random", false, ladder::patterns::random},
            {"integer", true, ladder::patterns::integers},
            {"NaN at the end", false, nan_at_end}};
  }
  // Around a tile of 32 in both dimensions, primes, one row, and k beyond one tile.
  std::vector<ladder::Size> test_sizes() const override {
    return {{0, 3},   {3, 0},   {1, 1},   {1, 100}, {100, 1},  {2, 5},   {31, 33}, {32, 32},
            {33, 31}, {64, 32}, {65, 32}, {63, 64}, {101, 37}, {130, 3}, {200, 65}};
  }
  std::vector<ladder::Size> huge_sizes() const override { return {{46351, 3}, {1025, (1 << 21) - 1}}; }
  std::vector<ladder::Size> bench_sizes() const override { return {{8192, 32}, {16384, 32}}; }

  bool has_answer(const ladder::Size& size, std::size_t element) const override {
    return is_sampled_row(size[0], size[0], size[1], element / size[0]);
  }
  double flops(const ladder::Size& size) const override {
    return 2.0 * static_cast<double>(size[0]) * static_cast<double>(size[0]) * static_cast<double>(size[1]);
  }

 private:
  static double nan_at_end(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    return i == n - 1 ? std::numeric_limits<double>::quiet_NaN() : ladder::patterns::random(seed, buffer, i, n);
  }

  Launch launch_;
};
