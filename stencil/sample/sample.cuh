// A bilinear resize of an image.
// out[r][c] is the image at y = (r + 0.5) rows_in / rows_out - 0.5, x likewise: pixel centres are at i + 0.5, and both
// images have the same edges. It interpolates between four pixels, with weights 1 - f and f along an axis, f = x -
// floor(x); indices are clamped. Same as PyTorch's interpolate(mode="bilinear", align_corners=False, antialias=False).
// practice: easy, next conv2d
#pragma once
#include "ladder.cuh"

#include <algorithm>
#include <cmath>
#include <numeric>

// How a step computes coordinates and weights; the error bound depends on it.
enum class Sampling {
  exact,   // coordinates in double or as accurate, weights and sums in float
  single,  // coordinates in float
  texture  // coordinates in float; the texture unit filters with weights of 8 fractional bits
};

class Sample : public ladder::Problem {
 public:
  // Both images are row-major without gaps. They don't overlap and need not be 16-byte aligned. Sides are at most 2^18.
  // If a side of `out` is 0, nothing is done; otherwise `in` must not be empty.
  using Launch = void (*)(const float* in, float* out, std::size_t rows_in, std::size_t cols_in, std::size_t rows_out,
                          std::size_t cols_out);
  static constexpr std::size_t kMostSide = 1 << 18;
  static constexpr std::size_t kMostTextureSide = 65000;  // a 2D array may have 131072 x 65536 texels

  explicit Sample(Launch launch, Sampling sampling = Sampling::single) : launch_(launch), sampling_(sampling) {}

  const char* family() const override { return "stencil"; }
  const char* kernel() const override { return "sample"; }
  std::vector<ladder::Dim> dims() const override {
    return {{"rows_in", 4096, 150, kMostSide},
            {"cols_in", 4096, 250, kMostSide},
            {"rows_out", 8192, 300, kMostSide},
            {"cols_out", 8192, 500, kMostSide}};
  }
  std::vector<ladder::Buffer> buffers(const ladder::Size& size) const override {
    const bool is_empty = size[0] * size[1] == 0;
    if (is_empty && size[2] * size[3] > 0) throw ladder::UsageError("--rows_in, --cols_in: an image has pixels");
    if (sampling_ == Sampling::texture && *std::max_element(size.dims.begin(), size.dims.end()) > kMostTextureSide) {
      throw ladder::UsageError("a texture takes sides of at most " + std::to_string(kMostTextureSide));
    }
    return {ladder::input<float>("in", size[0] * size[1]), ladder::output<float>("out", size[2] * size[3])};
  }
  void run(const ladder::Arrays& device, const ladder::Size& size) const override {
    launch_(device.at<const float>(0), device.at<float>(1), size[0], size[1], size[2], size[3]);
  }

  // scale = A, the largest magnitude of the 4 x 4 pixels around the point
  void expect(const ladder::Arrays& host, const ladder::Size& size, const ladder::Range& range, double* want,
              double* scale) const override {
    const float* in = host.at<const float>(0);
    const auto rows = static_cast<std::int64_t>(size[0]), cols = static_cast<std::int64_t>(size[1]);
    const auto pixel = [&](std::int64_t row, std::int64_t col) -> double {
      return in[std::clamp<std::int64_t>(row, 0, rows - 1) * cols + std::clamp<std::int64_t>(col, 0, cols - 1)];
    };
    for (std::size_t i = range.begin; i < range.end; ++i) {
      const Point y = point(i / size[3], size[0], size[2]), x = point(i % size[3], size[1], size[3]);
      const auto row = [&](std::int64_t r) {
        return (1 - x.fraction) * pixel(r, x.floor) + x.fraction * pixel(r, x.floor + 1);
      };
      want[i - range.begin] = (1 - y.fraction) * row(y.floor) + y.fraction * row(y.floor + 1);
      double largest = ladder::kEitherZero;
      for (std::int64_t r = y.floor - 1; r <= y.floor + 2; ++r) {
        for (std::int64_t c = x.floor - 1; c <= x.floor + 2; ++c) largest = std::fmax(largest, std::fabs(pixel(r, c)));
      }
      scale[i - range.begin] = largest;
    }
  }

  // Bound in units of A; u = 2^-24. If a coordinate is off by d pixels, the result is off by at most 2 A d, per axis.
  // - Two pixels along a row: f is rounded, then 1 - f, so a weight is off by 1.5 u and the two products by 3 u A. The
  //   weights add up to 1, so two products and a sum round by at most u A each: 6 u A. The mean of two such rows is off
  //   by these 6 u A and by 6 u A of its own: 12 u A, 13 u A with all terms in u^2.
  // - Coordinates in float, (i + 0.5) * (in / out) - 0.5: three roundings of a number up to `in` and one of the
  //   quotient: 4 u times `in` pixels, times 2 A, per axis.
  // - A texture's fraction has 8 bits, rounded or truncated: 1/256 of a pixel, times 2 A, per axis.
  double tolerance(const ladder::Size& size) const override {
    constexpr double u = ladder::kUnitRoundoff;
    double bound = 13 * u;
    if (sampling_ != Sampling::exact) bound += 8 * u * static_cast<double>(size[0] + size[1]);
    if (sampling_ == Sampling::texture) bound += 4.0 / 256;
    return bound;
  }
  // With weights that are multiples of 1/128 and small integers as pixels, products and sums have at most 20 bits. A
  // texture may be exact then too, but that is not documented.
  bool exact(const ladder::Size& size) const override {
    const auto in_128ths = [](std::size_t in, std::size_t out) {
      const std::size_t parts = out == 0 ? 1 : out / std::gcd(in, out);
      return parts <= 64 && (parts & (parts - 1)) == 0;
    };
    return sampling_ != Sampling::texture && in_128ths(size[0], size[2]) && in_128ths(size[1], size[3]);
  }

  // How a texture unit treats NaN, infinity and the weight 0 is not documented.
  std::vector<ladder::Pattern> patterns() const override {
    std::vector<ladder::Pattern> all = {{"random", false, ladder::patterns::random},
                                        {"integers", true, ladder::patterns::integers},
                                        {"tail", true, ladder::patterns::tail}};
    if (sampling_ == Sampling::texture) return all;
    all.push_back({"NaN in the middle", false, nan_in_middle});
    all.push_back({"one infinity", false, one_infinity});
    return all;
  }
  std::string corner(const ladder::Size&, const ladder::Pattern& pattern) const override {
    if (pattern.value != nan_in_middle && pattern.value != one_infinity) return {};
    return "how far NaN and infinity spread, if a coordinate rounds across a pixel or a weight is 0, is not asked";
  }

  // Empty, single pixels, rows and columns; enlarged and reduced by integers, by powers of two (exact) and by odd
  // ratios; one axis only; the same size, which is a copy; around the tile sizes 8 and 32.
  std::vector<ladder::Size> test_sizes() const override {
    return {{0, 0, 0, 0},     {5, 7, 0, 3},     {5, 7, 3, 0},         {1, 1, 1, 1},      {1, 1, 5, 7},
            {2, 2, 4, 4},     {4, 4, 2, 2},     {1, 9, 1, 4},         {9, 1, 20, 1},     {3, 5, 3, 5},
            {7, 9, 31, 33},   {31, 33, 7, 9},   {8, 32, 32, 32},      {16, 16, 33, 65},  {64, 64, 32, 32},
            {33, 31, 32, 64}, {5, 100, 9, 1},   {100, 5, 1, 9},       {40, 60, 10, 15},  {17, 23, 64, 128},
            {3, 3, 96, 96},   {50, 70, 99, 69}, {127, 129, 130, 257}, {5, 3000, 6, 2999}};
  }
  // More than 2^31 pixels in both images; the second pair has the longest side allowed.
  std::vector<ladder::Size> huge_sizes() const override {
    const ladder::Size square = {50000, 50000, 46341, 46342}, tall = {kMostSide, 8200, kMostSide, 8193};
    if (sampling_ == Sampling::texture) return {square};
    return {square, tall};
  }
  // Twice as large, half as large, a screen's size, and an odd ratio.
  std::vector<ladder::Size> bench_sizes() const override {
    return {{4096, 4096, 8192, 8192}, {8192, 8192, 4096, 4096}, {1080, 1920, 2160, 3840}, {4001, 6007, 3001, 4507}};
  }
  // The sides of `out` are half to twice those of `in`, and small enough for a texture.
  ladder::Size random_size(ladder::Draw& draw, double bytes) const override {
    constexpr double most = kMostTextureSide / 2;
    const double pixels = bytes / sizeof(float), by_y = draw.log_uniform(0.5, 2), by_x = draw.log_uniform(0.5, 2);
    const auto side = [&](double length) { return draw.near(static_cast<std::size_t>(std::clamp(length, 1.0, most))); };
    const double all_rows = pixels / (1 + by_y * by_x);
    const double fewest = std::max(1.0, all_rows / most);
    const std::size_t rows_in = side(draw.log_uniform(fewest, std::max(fewest, std::min(most, all_rows / 2))));
    const double rows = static_cast<double>(rows_in);
    const std::size_t rows_out = draw.near(static_cast<std::size_t>(std::max(1.0, rows * by_y)));
    const std::size_t cols_in = side(pixels / (rows + static_cast<double>(rows_out) * by_x));
    const std::size_t cols_out =
        draw.near(static_cast<std::size_t>(std::max(1.0, static_cast<double>(cols_in) * by_x)));
    return {rows_in, cols_in, rows_out, cols_out};
  }
  // a copy of the image in an array, or the image resized along its rows
  double scratch_bytes(const ladder::Size& size) const override {
    return 4.0 * static_cast<double>(size[0]) * static_cast<double>(std::max(size[1], size[3]));
  }
  // If the image shrinks by more than 2, not all pixels are read.
  double bytes(const ladder::Size& size) const override {
    const auto read = [&](int axis) { return static_cast<double>(std::min(size[axis], 2 * size[axis + 2])); };
    return 4 * (read(0) * read(1) + static_cast<double>(size[2]) * static_cast<double>(size[3]));
  }
  double flops(const ladder::Size& size) const override {
    return 9.0 * static_cast<double>(size[2]) * static_cast<double>(size[3]);
  }

 private:
  struct Point {
    std::int64_t floor;
    double fraction;
  };
  // Returns the coordinate in `in` of index i of `out`, computed in integers: ((2 i + 1) in - out) / (2 out).
  static Point point(std::size_t i, std::size_t in, std::size_t out) {
    const auto whole = static_cast<std::int64_t>(2 * out);
    const auto at = static_cast<std::int64_t>((2 * i + 1) * in + out);  // plus one pixel, so never negative
    return {at / whole - 1, static_cast<double>(at % whole) / static_cast<double>(whole)};
  }
  static double nan_in_middle(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    return i == n / 2 ? std::numeric_limits<double>::quiet_NaN() : ladder::patterns::random(seed, buffer, i, n);
  }
  static double one_infinity(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    return i == n / 3 ? std::numeric_limits<double>::infinity() : ladder::patterns::random(seed, buffer, i, n);
  }

  Launch launch_;
  Sampling sampling_;
};
