// The sum of each column of a matrix.
// out[c] = the sum of column c of a row-major matrix of rows x cols floats, and 0 for rows = 0: the gradient of a bias
// that was added to every row. Any order of additions is right. NaN and infinities propagate within their column.
// practice: medium, next batch_norm
#pragma once
#include "../reduction.cuh"

#include <cmath>

class ColSum : public Reduction {
 public:
  // Element (r, c) is x[r * cols + c]; out: one float per column. Any alignment. rows: 0 to 2^36, cols: 0 to 2^35.
  using Launch = void (*)(const float* x, float* out, std::size_t rows, std::size_t cols);

  // The largest number of additions that an element passes through on its way into its column's result.
  using Height = std::size_t (*)(std::size_t rows, std::size_t cols);

  // The default height holds for any order of additions.
  explicit ColSum(
      Launch launch, Height height = [](std::size_t rows, std::size_t) { return any_order(rows); })
      : launch_(launch), height_(height) {}

  const char* kernel() const override { return "col_sum"; }
  std::vector<ladder::Dim> dims() const override {
    return {{"rows", 16384, 301, std::size_t{1} << 36}, {"cols", 4096, 517, std::size_t{1} << 35}};
  }
  std::vector<ladder::Buffer> buffers(const ladder::Size& size) const override {
    if (static_cast<double>(size[0]) * static_cast<double>(size[1]) > 1e12) {
      throw ladder::UsageError("--rows: a matrix of " + std::to_string(size[0]) + " rows is too large");
    }
    return {ladder::input<float>("x", size[0] * size[1]), ladder::output<float>("out", size[1])};
  }
  void run(const ladder::Arrays& device, const ladder::Size& size) const override {
    launch_(device.at<const float>(0), device.at<float>(1), size[0], size[1]);
  }

  // want = the sum, scale = the sum of magnitudes.
  void expect(const ladder::Arrays& host, const ladder::Size& size, const ladder::Range& range, double* want,
              double* scale) const override {
    const std::size_t columns = range.end - range.begin;
    std::fill(want, want + columns, 0.0);
    std::fill(scale, scale + columns, 0.0);
    for (std::size_t r = 0; r < size[0]; ++r) {
      const float* row = host.at<const float>(0) + r * size[1] + range.begin;
      for (std::size_t c = 0; c < columns; ++c) {
        want[c] += row[c];
        scale[c] += std::fabs(row[c]);
      }
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
  // Empty, single rows and columns, narrow and wide matrices, widths near a warp and a tile, heights near a block's.
  std::vector<ladder::Size> test_sizes() const override {
    std::vector<ladder::Size> sizes = {{0, 0},     {7, 0},     {0, 5},      {0, 33},     {1, 1},     {1025, 1},
                                       {1, 515},   {2, 127},   {40, 33},    {255, 9},    {512, 8},   {513, 7},
                                       {2048, 5},  {4100, 5},  {8191, 3},   {16388, 3},  {70001, 1}, {3, 1027},
                                       {5, 20011}, {601, 517}, {1000, 132}, {1537, 516}, {20011, 2}, {9001, 12}};
    for (const std::size_t cols : {3, 4, 6, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 127, 128, 129, 130, 256}) {
      sizes.push_back({131, cols});
    }
    return sizes;
  }
  std::vector<ladder::Size> huge_sizes() const override {
    return {{(1 << 21) + 5, 1028}, {1025, (1 << 21) + 4}, {(std::size_t{1} << 31) + 9, 1}};
  }
  std::vector<ladder::Size> bench_sizes() const override {
    return {{16384, 4096}, {1 << 20, 128}, {512, 1 << 18}, {1 << 24, 8}};
  }
  double flops(const ladder::Size& size) const override {
    return static_cast<double>(size[0]) * static_cast<double>(size[1]);
  }

 private:
  Launch launch_;
  Height height_;
};
