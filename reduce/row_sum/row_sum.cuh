// The sum of each row of a matrix.
// out[r] = the sum of row r of a row-major matrix of rows x cols floats, and 0 for cols = 0. Any order of additions is
// right. NaN and infinities propagate within their row.
// practice: easy, next col_sum
#pragma once
#include "../reduction.cuh"

#include <cmath>

class RowSum : public Reduction {
 public:
  // Element (r, c) is x[r * cols + c]. out: one float per row. Any alignment, any cols; both may be 0; rows < 2^31.
  using Launch = void (*)(const float* x, float* out, std::size_t rows, std::size_t cols);

  // The largest number of additions that an element passes through on its way into its row's result.
  using Height = std::size_t (*)(std::size_t rows, std::size_t cols);

  // The default height holds for any order of additions.
  explicit RowSum(
      Launch launch, Height height = [](std::size_t, std::size_t cols) { return any_order(cols); })
      : launch_(launch), height_(height) {}

  const char* kernel() const override { return "row_sum"; }
  std::vector<ladder::Dim> dims() const override {
    return {{"rows", 16384, 301, (std::size_t{1} << 31) - 1}, {"cols", 4096, 517, std::size_t{1} << 36}};
  }
  std::vector<ladder::Buffer> buffers(const ladder::Size& size) const override {
    if (static_cast<double>(size[0]) * static_cast<double>(size[1]) > 1e15) {
      throw ladder::UsageError("--rows: a matrix of " + std::to_string(size[0]) + " rows is too large");
    }
    return {ladder::input<float>("x", size[0] * size[1]), ladder::output<float>("out", size[0])};
  }
  void run(const ladder::Arrays& device, const ladder::Size& size) const override {
    launch_(device.at<const float>(0), device.at<float>(1), size[0], size[1]);
  }

  // want = the sum, scale = the sum of magnitudes.
  void expect(const ladder::Arrays& host, const ladder::Size& size, const ladder::Range& range, double* want,
              double* scale) const override {
    for (std::size_t r = range.begin; r < range.end; ++r) {
      const float* row = host.at<const float>(0) + r * size[1];
      double sum = 0, magnitude = 0;
      for (std::size_t c = 0; c < size[1]; ++c) {
        sum += row[c];
        magnitude += std::fabs(row[c]);
      }
      want[r - range.begin] = sum;
      scale[r - range.begin] = magnitude;
    }
  }
  double tolerance(const ladder::Size& size) const override { return tree_bound(height_(size[0], size[1])); }

  std::vector<ladder::Pattern> patterns() const override {
    return {{"random", false, ladder::patterns::random},
            {"integer", true, ladder::patterns::integers},
            {"cancelling", false, ladder::patterns::cancelling},
            {"one NaN", false, ladder::patterns::one_nan},
            {"both infinities", false, ladder::patterns::both_infinities},
            {"0.1 everywhere", false, ladder::patterns::tenths}};
  }
  // Empty matrices, single rows and columns, short rows near powers of two, long rows, many rows, few long rows.
  std::vector<ladder::Size> test_sizes() const override {
    std::vector<ladder::Size> sizes = {{0, 0},      {0, 7},     {5, 0},    {1, 1},      {1, 1025},
                                       {515, 1},    {127, 2},   {33, 40},  {9, 255},    {8, 512},
                                       {7, 513},    {5, 2048},  {5, 4100}, {3, 8191},   {3, 16388},
                                       {2, 100003}, {1, 70001}, {1027, 3}, {2, 131072}, {601, 517}};
    for (const std::size_t cols : {3, 4, 5, 7, 8, 12, 15, 16, 17, 31, 32, 33, 63, 64, 127, 128, 129, 130}) {
      sizes.push_back({35, cols});
    }
    return sizes;
  }
  std::vector<ladder::Size> huge_sizes() const override { return {{(1 << 21) + 5, 1028}, {1025, (1 << 21) + 4}}; }
  std::vector<ladder::Size> bench_sizes() const override { return {{65536, 128}, {16384, 4096}, {64, 1 << 20}}; }
  double flops(const ladder::Size& size) const override {
    return static_cast<double>(size[0]) * static_cast<double>(size[1]);
  }

 private:
  Launch launch_;
  Height height_;
};
