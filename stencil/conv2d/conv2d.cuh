// Convolution of an image with a k x k filter.
// out[r][c] = sum over i, j = 0..k-1 of w[i][j] * in[r + i - k/2][c + j - k/2], k = 3, 5 or 7, for one channel. As in
// deep learning the filter isn't mirrored. Outside the image `in` is 0.
// practice: medium, next conv2d_channels
#pragma once
#include "ladder.cuh"

#include <cmath>

constexpr std::size_t kMostTaps = 7 * 7;

class Conv2d : public ladder::Problem {
 public:
  // Both images are rows x cols, row-major, without gaps; w has k * k floats, w[i * k + j]. Arrays don't overlap and
  // need not be 16-byte aligned. rows = 0 or cols = 0 does nothing.
  using Launch = void (*)(const float* in, const float* w, float* out, std::size_t rows, std::size_t cols, int k);

  // dim_in_y ("rows" or "cols"), tile: for a step with one block in gridDim.y per `tile` rows or columns.
  explicit Conv2d(Launch launch, const char* dim_in_y = nullptr, std::size_t tile = 0)
      : launch_(launch), dim_in_y_(dim_in_y), tile_(tile) {}

  const char* family() const override { return "stencil"; }
  const char* kernel() const override { return "conv2d"; }
  // k = 0 means 3.
  std::vector<ladder::Dim> dims() const override {
    return {{"rows", 8192, 300, std::size_t{1} << 31}, {"cols", 8192, 500, std::size_t{1} << 31}, {"k", 0, 0, 7}};
  }
  std::vector<ladder::Buffer> buffers(const ladder::Size& size) const override {
    if (taps(size) < 3 || taps(size) % 2 == 0) throw ladder::UsageError("--k: must be 3, 5 or 7");
    if (dim_in_y_) ladder::require_grid_y(dim_in_y_, size[dim_in_y_ == std::string("rows") ? 0 : 1], tile_);
    return {ladder::input<float>("in", size[0] * size[1]), ladder::input<float>("w", taps(size) * taps(size)),
            ladder::output<float>("out", size[0] * size[1])};
  }
  void run(const ladder::Arrays& device, const ladder::Size& size) const override {
    launch_(device.at<const float>(0), device.at<const float>(1), device.at<float>(2), size[0], size[1],
            static_cast<int>(taps(size)));
  }

  // scale = sum of |w| |in|
  void expect(const ladder::Arrays& host, const ladder::Size& size, const ladder::Range& range, double* want,
              double* scale) const override {
    const float *in = host.at<const float>(0), *w = host.at<const float>(1);
    const std::size_t rows = size[0], cols = size[1], k = taps(size);
    for (std::size_t n = range.begin; n < range.end; ++n) {
      double sum = 0, magnitude = 0;
      for (std::size_t i = 0; i < k; ++i) {
        for (std::size_t j = 0; j < k; ++j) {
          const std::size_t r = n / cols + i - k / 2, c = n % cols + j - k / 2;  // wraps around below 0
          const double product = static_cast<double>(w[i * k + j]) * (r < rows && c < cols ? in[r * cols + c] : 0);
          sum += product;
          magnitude += std::fabs(product);
        }
      }
      want[n - range.begin] = sum;
      scale[n - range.begin] = magnitude;
    }
  }

  // A sum of n = k * k products, in any order, with or without fma, is off by at most gamma_n sum |w| |in|,
  // gamma_n = n u / (1 - n u) (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., (3.5)).
  double tolerance(const ladder::Size& size) const override {
    const double nu = static_cast<double>(taps(size) * taps(size)) * ladder::kUnitRoundoff;
    return nu / (1 - nu);
  }

  std::vector<ladder::Pattern> patterns() const override {
    return {{"random", false, ladder::patterns::random},
            {"integer", true, ladder::patterns::integers},
            {"tail", true, tail_of_image},
            {"NaN in the image", false, nan_in_image},
            {"one infinite weight", false, infinite_weight}};
  }

  // empty, smaller than the filter, single rows and columns, around tile sizes (8, 32, 128), all remainders modulo 4
  std::vector<ladder::Size> test_sizes() const override {
    std::vector<ladder::Size> sizes;
    for (const std::size_t k : {3, 5, 7}) {
      for (const ladder::Size& size : std::initializer_list<ladder::Size>{
               {0, 0},   {0, 5},    {5, 0},    {1, 1},    {1, 2},    {2, 1},   {2, 2},   {3, 3},   {1, 257},
               {257, 1}, {2, 131},  {131, 2},  {3, 64},   {64, 3},   {4, 4},   {7, 9},   {8, 12},  {8, 32},
               {9, 33},  {31, 33},  {32, 32},  {33, 31},  {16, 64},  {17, 65}, {5, 127}, {6, 128}, {7, 129},
               {3, 260}, {11, 514}, {27, 131}, {35, 132}, {41, 261}, {60, 260}}) {
        sizes.push_back({size[0], size[1], k});
      }
    }
    sizes.push_back({70, 1030, 5});
    sizes.push_back({300, 500, 0});
    return sizes;
  }
  // more than 2^31 pixels; one with more than 65535 * 32 rows, left out if the step refuses it
  std::vector<ladder::Size> huge_sizes() const override {
    const ladder::Size tall = {(1 << 21) + 5, 1025, 3}, wide = {1028, (1 << 21) + 8, 7};
    return dim_in_y_ ? std::vector<ladder::Size>{wide} : std::vector<ladder::Size>{tall, wide};
  }
  std::vector<ladder::Size> bench_sizes() const override {
    return {{8192, 8192, 3}, {8192, 8192, 5}, {8192, 8192, 7}, {8191, 8193, 5}, {1080, 1920, 5}};
  }
  ladder::Size random_size(ladder::Draw& draw, double bytes) const override {
    return draw_lengths(draw, bytes, {0, 0, 3 + 2 * draw.below(3)});
  }
  double flops(const ladder::Size& size) const override {
    return 2.0 * static_cast<double>(taps(size) * taps(size)) * static_cast<double>(size[0]) *
           static_cast<double>(size[1]);
  }

 private:
  static std::size_t taps(const ladder::Size& size) { return size[2] ? size[2] : 3; }

  static double tail_of_image(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    return buffer == 0 ? ladder::patterns::tail(seed, buffer, i, n) : ladder::patterns::integers(seed, buffer, i, n);
  }
  static double nan_in_image(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    const bool here = buffer == 0 && i == n / 2;
    return here ? std::numeric_limits<double>::quiet_NaN() : ladder::patterns::random(seed, buffer, i, n);
  }
  // Infinity times the 0 outside the image is NaN.
  static double infinite_weight(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    const bool here = buffer == 1 && i == n - 1;
    return here ? std::numeric_limits<double>::infinity() : ladder::patterns::random(seed, buffer, i, n);
  }

  Launch launch_;
  const char* dim_in_y_;
  std::size_t tile_;
};
