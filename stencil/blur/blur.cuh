// A 3 x 3 box blur of an image.
// out[r][c] = mean of in[r'][c'] over r' = r..r+2, c' = c..c+2: the pixel is the top left corner of its window.
// Indices are clamped to the last row and column, so pixels there may count more than once.
// practice: easy, next pool2d
#pragma once
#include "ladder.cuh"

#include <algorithm>
#include <cmath>

constexpr int kWindow = 3;             // pixels across and down
constexpr float kNinth = 1.0f / 9.0f;  // multiplying is cheaper than dividing by 9; one more rounding

class Blur : public ladder::Problem {
 public:
  // Both images are rows x cols, row-major, without gaps: in[row * cols + col]. They don't overlap and need not be
  // 16-byte aligned. rows = 0 or cols = 0 does nothing.
  using Launch = void (*)(const float* in, float* out, std::size_t rows, std::size_t cols);

  // dim_in_y ("rows" or "cols"), tile: for a step with one block in gridDim.y per `tile` rows or columns.
  explicit Blur(Launch launch, const char* dim_in_y = nullptr, std::size_t tile = 0)
      : launch_(launch), dim_in_y_(dim_in_y), tile_(tile) {}

  const char* family() const override { return "stencil"; }
  const char* kernel() const override { return "blur"; }
  std::vector<ladder::Dim> dims() const override {
    return {{"rows", 4096, 300, std::size_t{1} << 31}, {"cols", 8192, 500, std::size_t{1} << 31}};
  }
  std::vector<ladder::Buffer> buffers(const ladder::Size& size) const override {
    if (dim_in_y_) ladder::require_grid_y(dim_in_y_, size[dim_in_y_ == std::string("rows") ? 0 : 1], tile_);
    return {ladder::input<float>("in", size[0] * size[1]), ladder::output<float>("out", size[0] * size[1])};
  }
  void run(const ladder::Arrays& device, const ladder::Size& size) const override {
    launch_(device.at<const float>(0), device.at<float>(1), size[0], size[1]);
  }

  // scale = mean of the magnitudes in the window
  void expect(const ladder::Arrays& host, const ladder::Size& size, const ladder::Range& range, double* want,
              double* scale) const override {
    const float* in = host.at<const float>(0);
    const std::size_t rows = size[0], cols = size[1];
    for (std::size_t i = range.begin; i < range.end; ++i) {
      double sum = 0, magnitude = 0;
      for (std::size_t r = i / cols; r < i / cols + kWindow; ++r) {
        for (std::size_t c = i % cols; c < i % cols + kWindow; ++c) {
          const double pixel = in[std::min(r, rows - 1) * cols + std::min(c, cols - 1)];
          sum += pixel;
          magnitude += std::fabs(pixel);
        }
      }
      want[i - range.begin] = sum / 9;
      scale[i - range.begin] = magnitude / 9;
    }
  }

  // A pixel takes part in at most 8 additions, in any order, the product with 1/9, and the rounding of 1/9: 10 factors
  // 1 + d, |d| <= u. So the error is at most gamma_10 of the magnitudes' mean, gamma_n = n u / (1 - n u) (Higham,
  // Accuracy and Stability of Numerical Algorithms, 2nd ed., lemma 3.1).
  double tolerance(const ladder::Size&) const override {
    constexpr double nu = (kWindow * kWindow + 1) * ladder::kUnitRoundoff;
    return nu / (1 - nu);
  }

  std::vector<ladder::Pattern> patterns() const override {
    return {{"random", false, ladder::patterns::random},
            {"nines", true, nines},
            {"tail", true, nine_times_tail},
            {"NaN in the middle", false, nan_in_middle},
            {"one infinity", false, one_infinity}};
  }

  // empty, smaller than the window, single rows and columns, around tile sizes (8, 32, 128), all remainders modulo 4
  std::vector<ladder::Size> test_sizes() const override {
    return {{0, 0},   {0, 5},     {5, 0},    {1, 1},     {1, 2},     {2, 1},    {2, 2},     {3, 3},
            {1, 257}, {257, 1},   {2, 131},  {131, 2},   {3, 64},    {64, 3},   {4, 4},     {7, 9},
            {8, 12},  {8, 32},    {9, 33},   {31, 33},   {32, 32},   {33, 31},  {15, 63},   {16, 64},
            {17, 65}, {5, 127},   {5, 128},  {6, 129},   {7, 130},   {12, 256}, {3, 260},   {40, 36},
            {65, 61}, {101, 103}, {9, 1023}, {10, 1024}, {11, 1028}, {9, 2052}, {300, 1000}};
  }
  // more than 2^31 pixels: more than 65535 * 32 rows, as many columns, or 3 columns; only those that the step accepts
  std::vector<ladder::Size> huge_sizes() const override {
    const ladder::Size tall = {(1 << 21) + 5, 1025}, wide = {1028, (1 << 21) + 8}, thin = {715827900, 3};
    if (!dim_in_y_) return {tall, wide, thin};
    return {dim_in_y_ == std::string("rows") ? wide : tall};
  }
  std::vector<ladder::Size> bench_sizes() const override {
    return {{4096, 8192}, {8192, 8192}, {16384, 16384}, {8191, 8193}, {1080, 1920}};
  }
  // step 03's row sums, or step 06's image with a texture's alignment
  double scratch_bytes(const ladder::Size& size) const override {
    return sizeof(float) * static_cast<double>(size[0]) * static_cast<double>(size[1]);
  }
  double flops(const ladder::Size& size) const override {
    return 9.0 * static_cast<double>(size[0]) * static_cast<double>(size[1]);
  }

 private:
  // 9 s times the float nearest to 1/9 rounds to s for every s that occurs, so results must be exact
  static double nines(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    return 9 * ladder::patterns::integers(seed, buffer, i, n);
  }
  static double nine_times_tail(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    return 9 * ladder::patterns::tail(seed, buffer, i, n);
  }
  static double nan_in_middle(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    return i == n / 2 ? std::numeric_limits<double>::quiet_NaN() : ladder::patterns::random(seed, buffer, i, n);
  }
  static double one_infinity(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    return i == n / 3 ? std::numeric_limits<double>::infinity() : ladder::patterns::random(seed, buffer, i, n);
  }

  Launch launch_;
  const char* dim_in_y_;
  std::size_t tile_;
};
