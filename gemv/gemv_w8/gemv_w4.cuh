// 4-bit weights with zero points times a BF16 vector (W4A16).
// W is n x k in 4 bits: byte r * ceil(k / 2) + j / 2 has weight j of row r, in its low half if j is even, in its high
// half if j is odd. With odd k the high half of a row's last byte may be anything. Every 128 weights of a row form a
// group with an FP32 scale and a zero point, a byte from 0 to 15; the last group may be shorter. With groups =
// ceil(k / 128):
//   y[r] = sum over j of scales[r * groups + j / 128] * (q[r][j] - zeros[r * groups + j / 128]) * x[j], added in FP32.
// Scales may have any sign. k = 0 gives y = 0.
// practice: hard, next gemv_w4_rows
#pragma once
#include "ladder.cuh"

#include <cuda_bf16.h>

class GemvW4 : public ladder::Problem {
 public:
  // W has n * ceil(k / 2) bytes, scales and zeros have n * groups elements, x has k, y has n. The arrays don't overlap;
  // pointers need only be aligned to an element, and k may be any number. n is below 2^31; n and k may be 0.
  using Launch = void (*)(const std::uint8_t* W, const float* scales, const std::uint8_t* zeros, const __nv_bfloat16* x,
                          float* y, std::size_t n, std::size_t k);

  explicit GemvW4(Launch launch) : launch_(launch) {}

  const char* family() const override { return "gemv"; }
  const char* kernel() const override { return "gemv_w4"; }
  std::vector<ladder::Dim> dims() const override {
    return {{"n", 8192, 301, (std::size_t{1} << 31) - 1}, {"k", 8192, 1056, std::size_t{1} << 36}};
  }
  std::vector<ladder::Buffer> buffers(const ladder::Size& size) const override {
    if (static_cast<double>(size[0]) * static_cast<double>(size[1]) > 1e15) {
      throw ladder::UsageError("--n: a matrix of " + std::to_string(size[0]) + " rows is too large");
    }
    const std::size_t all_groups = size[0] * ceil_div(size[1], kGroup);
    return {ladder::input<std::uint8_t>("W", size[0] * ceil_div(size[1], std::size_t{2})),
            ladder::input<float>("scales", all_groups), ladder::input<std::uint8_t>("zeros", all_groups),
            ladder::input<__nv_bfloat16>("x", size[1]), ladder::output<float>("y", size[0])};
  }
  void run(const ladder::Arrays& device, const ladder::Size& size) const override {
    launch_(device.at<const std::uint8_t>(0), device.at<const float>(1), device.at<const std::uint8_t>(2),
            device.at<const __nv_bfloat16>(3), device.at<float>(4), size[0], size[1]);
  }

  // q * x, z * x and (q - z) * x are exact in FP32. If z times the sum of x is subtracted from the sum of q * x, a term
  // passes through at most k - 1 additions within and between groups, the product with z, the subtraction and the
  // product with the scale. So the error is at most gamma_(k + 3) sum |scale| (q + z) |x|, gamma_n = n u / (1 - n u),
  // in any order (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., lemma 3.1). Where n u isn't small,
  // n u replaces gamma_n (Jeannerod and Rump, SIAM J. Matrix Anal. Appl. 34, 2013). Subtracting z from each weight
  // has a smaller error. If all terms are 0, +0 and -0 are both accepted.
  void expect(const ladder::Arrays& host, const ladder::Size& size, const ladder::Range& range, double* want,
              double* scale) const override {
    const std::size_t k = size[1], groups = ceil_div(k, kGroup);
    const __nv_bfloat16* x = host.at<const __nv_bfloat16>(3);
    for (std::size_t r = range.begin; r < range.end; ++r) {
      const std::uint8_t* row = host.at<const std::uint8_t>(0) + r * ceil_div(k, std::size_t{2});
      const float* scales = host.at<const float>(1) + r * groups;
      const std::uint8_t* zeros = host.at<const std::uint8_t>(2) + r * groups;
      double sum = 0, magnitude = 0;
      for (std::size_t j = 0; j < k; ++j) {
        const int q = row[j / 2] >> j % 2 * 4 & 15, z = zeros[j / kGroup];
        const double scaled = static_cast<double>(scales[j / kGroup]) * static_cast<float>(x[j]);
        sum += scaled * (q - z);
        magnitude += std::fabs(scaled) * (q + z);
      }
      want[r - range.begin] = sum;
      scale[r - range.begin] = magnitude == 0 && k > 0 ? ladder::kEitherZero : magnitude;
    }
  }
  double tolerance(const ladder::Size& size) const override {
    const double nu = static_cast<double>(size[1] + 3) * ladder::kUnitRoundoff;
    return nu < 0.01 ? nu / (1 - nu) : nu;
  }
  // Sums on exact patterns are random walks of integers with steps of about 50.
  bool exact(const ladder::Size& size) const override { return size[1] <= std::size_t{1} << 24; }

  std::vector<ladder::Pattern> patterns() const override {
    return {{"random", false, random},    {"integer", true, integers},        {"tail", true, tail_of_x},
            {"extremes", true, extremes}, {"NaN in x", false, nan_at_end<3>}, {"NaN in a scale", false, nan_at_end<1>}};
  }
  // Empty matrices; one row, one column; k near a byte (2), a word (8), a load (32), a group (128) and a warp's load
  // (1024); odd k, where only half of a row's last byte is used.
  std::vector<ladder::Size> test_sizes() const override {
    std::vector<ladder::Size> sizes = {{0, 0},   {0, 7},     {7, 0},     {1, 1},     {300, 1},
                                       {301, 2}, {1, 70001}, {2, 16416}, {33, 2048}, {65, 544}};
    for (const std::size_t k : {48,  272, 3,   7,   8,   9,   15,  16,  17,  31,  32,  33,   63,   64,   65,   96,
                                127, 128, 129, 160, 255, 256, 257, 288, 511, 512, 513, 1023, 1024, 1025, 1056, 1152}) {
      sizes.push_back({19, k});
    }
    return sizes;
  }
  // More than 2^32 weights; more than 2^32 threads if a row has 32 lanes.
  std::vector<ladder::Size> huge_sizes() const override { return {{(1 << 22) + 5, 1056}, {(1 << 27) + 5, 19}}; }
  std::vector<ladder::Size> bench_sizes() const override {
    return {{4096, 4096}, {8192, 8192}, {28672, 4096}, {4096, 14336}, {128256, 4096}};
  }
  double flops(const ladder::Size& size) const override {
    return 2.0 * static_cast<double>(size[0]) * static_cast<double>(size[1]);
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
  // x is 0 except for its last four elements.
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

  Launch launch_;
};
