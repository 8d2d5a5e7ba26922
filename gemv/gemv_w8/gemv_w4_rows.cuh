// 4-bit weights times 1 to 16 BF16 vectors (W4A16).
// Used in decoding with a small batch. W is n x k in 4 bits as in gemv_w4, k = 128 * groups: byte r * k / 2 + j / 2 has
// weight j of row r, in its low half if j is even, in its high half if j is odd. Every 128 weights of a row are a group
// with an FP32 scale and a zero point, a byte from 0 to 15. X is m x k and Y is m x n, both row-major:
//   Y[i][r] = sum over j of scales[r * groups + j / 128] * (q[r][j] - zeros[r * groups + j / 128]) * X[i][j]
// Sums are in FP32; within a group a tensor core may add. Scales may have any sign. groups = 0 gives Y = 0.
// practice: hard, next spmv
#pragma once
#include "ladder.cuh"
#include "tensor_core_error.hpp"

#include <cuda_bf16.h>

class GemvW4Rows : public ladder::Problem {
 public:
  // W has n * k / 2 bytes, scales and zeros have n * groups elements, X has m * k, Y has m * n. The arrays don't
  // overlap; pointers need only be aligned to an element. m is at most 16, n is below 2^31, groups is below 2^30; all
  // three may be 0. W is given in this layout only: a conversion to another one is part of a step's time.
  using Launch = void (*)(const std::uint8_t* W, const float* scales, const std::uint8_t* zeros, const __nv_bfloat16* X,
                          float* Y, std::size_t m, std::size_t n, std::size_t groups);

  explicit GemvW4Rows(Launch launch) : launch_(launch) {}

  const char* family() const override { return "gemv"; }
  const char* kernel() const override { return "gemv_w4_rows"; }
  std::vector<ladder::Dim> dims() const override {
    return {{"m", 8, 11, 16}, {"n", 8192, 301, (std::size_t{1} << 31) - 1}, {"groups", 64, 9, std::size_t{1} << 29}};
  }
  std::vector<ladder::Buffer> buffers(const ladder::Size& size) const override {
    const std::size_t m = size[0], n = size[1], k = kGroup * size[2];
    if (static_cast<double>(n) * static_cast<double>(k) > 1e15) {
      throw ladder::UsageError("--n: a matrix of " + std::to_string(n) + " rows is too large");
    }
    return {ladder::input<std::uint8_t>("W", n * k / 2), ladder::input<float>("scales", n * size[2]),
            ladder::input<std::uint8_t>("zeros", n * size[2]), ladder::input<__nv_bfloat16>("X", m * k),
            ladder::output<float>("Y", m * n)};
  }
  void run(const ladder::Arrays& device, const ladder::Size& size) const override {
    launch_(device.at<const std::uint8_t>(0), device.at<const float>(1), device.at<const std::uint8_t>(2),
            device.at<const __nv_bfloat16>(3), device.at<float>(4), size[0], size[1], size[2]);
  }

  // In FP32 the bound is that of gemv_w4, gamma_(k + 3) sum |scale| (q + z) |x|, in any order and wherever zero points
  // and scales are applied. On a tensor core a group of 128 loses at most 320 u of the sum of its |q - z| |x|, as
  // tensor_core_error.hpp derives. The product with the scale, k / 128 additions and, if it is done, the subtraction of
  // z times the sum of x lose less than (k / 128 + 4) u. Both bounds are below (2.5 k + 6) u, since k is at least 128.
  // Weights that are rounded to BF16 after scaling exceed it. If all terms are 0, +0 and -0 are both accepted.
  void expect(const ladder::Arrays& host, const ladder::Size& size, const ladder::Range& range, double* want,
              double* scale) const override {
    const std::size_t n = size[1], groups = size[2], k = kGroup * groups;
    for (std::size_t e = range.begin; e < range.end; ++e) {
      const std::size_t r = e % n;
      const __nv_bfloat16* x = host.at<const __nv_bfloat16>(3) + e / n * k;
      const std::uint8_t* row = host.at<const std::uint8_t>(0) + r * (k / 2);
      const float* scales = host.at<const float>(1) + r * groups;
      const std::uint8_t* zeros = host.at<const std::uint8_t>(2) + r * groups;
      double sum = 0, magnitude = 0;
      for (std::size_t j = 0; j < k; ++j) {
        const int q = row[j / 2] >> j % 2 * 4 & 15, z = zeros[j / kGroup];
        const double scaled = static_cast<double>(scales[j / kGroup]) * static_cast<float>(x[j]);
        sum += scaled * (q - z);
        magnitude += std::fabs(scaled) * (q + z);
      }
      want[e - range.begin] = sum;
      scale[e - range.begin] = magnitude == 0 && k > 0 ? ladder::kEitherZero : magnitude;
    }
  }
  double tolerance(const ladder::Size& size) const override { return tensor_core_gamma(kGroup * size[2]); }
  // Sums on exact patterns are random walks of integers with steps of about 50.
  bool exact(const ladder::Size& size) const override { return size[2] <= std::size_t{1} << 17; }

  std::vector<ladder::Pattern> patterns() const override {
    return {{"random", false, random},
            {"integer", true, integers},
            {"tail", true, tail_of_x},
            {"extremes", true, extremes},
            {"NaN in X", false, nan_at_end<3>},
            {"NaN in a scale", false, nan_at_end<1>},
            {"infinity in X", false, infinity_in_x}};
  }
  // Empty matrices; one row, one column of Y; every m; n near the 16 rows of a fragment; groups near the 8 warps of a
  // block.
  std::vector<ladder::Size> test_sizes() const override {
    std::vector<ladder::Size> sizes = {{0, 0, 0},   {0, 7, 1},   {3, 0, 1},   {5, 7, 0},   {1, 1, 1},
                                       {16, 1, 8},  {1, 300, 1}, {16, 33, 2}, {2, 65, 3},  {9, 130, 5},
                                       {16, 2, 72}, {8, 48, 16}, {3, 8, 7},   {11, 15, 9}, {13, 17, 17}};
    for (std::size_t m = 1; m <= 16; ++m) sizes.push_back({m, 19, 2});
    return sizes;
  }
  // More than 2^32 weights; more than 2^32 threads if a row has 32 lanes.
  std::vector<ladder::Size> huge_sizes() const override { return {{2, (1 << 22) + 5, 9}, {1, (1 << 27) + 5, 1}}; }
  std::vector<ladder::Size> bench_sizes() const override {
    return {{8, 8192, 64}, {1, 8192, 64}, {4, 8192, 64}, {16, 8192, 64}, {8, 4096, 112}, {8, 28672, 32}};
  }
  ladder::Size random_size(ladder::Draw& draw, double bytes) const override {
    return draw_lengths(draw, bytes, {1 + draw.below(16), 0, 0});
  }
  double flops(const ladder::Size& size) const override {
    return 2.0 * static_cast<double>(size[0] * size[1]) * static_cast<double>(kGroup * size[2]);
  }
  ladder::Ceiling ceiling() const override { return ladder::Ceiling::read; }

 private:
  static constexpr std::size_t kGroup = 128;

  static double random(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    if (buffer == 0) return static_cast<double>(ladder::hash(seed, 0, i) >> 56);
    if (buffer == 2) return static_cast<double>(ladder::hash(seed, 2, i) >> 60);
    const double value = ladder::patterns::random(seed, buffer, i, n);
    return buffer == 1 ? (value + 2) / 8 : value;
  }
  static double integers(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    return buffer % 2 == 0 ? random(seed, buffer, i, n) : ladder::patterns::integers(seed, buffer, i, n);
  }
  // X is 0 except for its last four elements.
  static double tail_of_x(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    return buffer == 3 ? ladder::patterns::tail(seed, buffer, i, n) : integers(seed, buffer, i, n);
  }
  static double extremes(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    constexpr double bytes[] = {0x00, 0x0f, 0xf0, 0xff};
    if (buffer == 0) return bytes[ladder::hash(seed, 0, i) % 4];
    return buffer == 2 ? (ladder::hash(seed, 2, i) & 1) * 15.0 : integers(seed, buffer, i, n);
  }
  template <std::size_t kBuffer>
  static double nan_at_end(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    const bool here = buffer == kBuffer && i + 1 == n;
    return here ? std::numeric_limits<double>::quiet_NaN() : random(seed, buffer, i, n);
  }
  // Infinity times a weight that equals its zero point is NaN. Other rows of Y have numbers.
  static double infinity_in_x(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    const bool here = buffer == 3 && i == n / 2;
    return here ? std::numeric_limits<double>::infinity() : extremes(seed, buffer, i, n);
  }

  Launch launch_;
};
