// Symmetric quantization to 8 bits, row by row.
// scale_r = max over c of |x_rc| / 127; q_rc = x_rc / scale_r, rounded: q_rc * scale_r is x_rc to within half a scale.
//
// scale is the correctly rounded float division. q is rounded to nearest, ties to even, and is at most 127 in
// magnitude. If the scale is 0 (a row of zeros, or the division underflows), the values are 0. A NaN in a row makes its
// scale NaN, else an infinity makes it infinite. In both cases the values are 0, so that 0 times the scale is NaN. A
// row without elements has the scale 0.
// practice: medium, next bank_conflict
#pragma once
#include "../elementwise.cuh"
#include "runner/parallel.hpp"

class Quantize : public ladder::Problem {
 public:
  // x and q hold rows * cols elements, without gaps between rows; scale has a float per row. They do not overlap. x and
  // scale are 4-byte aligned; q may be at any address. rows and cols may be 0; rows is below 2^31.
  using Launch = void (*)(const float* x, std::int8_t* q, float* scale, std::size_t rows, std::size_t cols);

  explicit Quantize(Launch launch) : launch_(launch) {}

  const char* family() const override { return "elementwise"; }
  const char* kernel() const override { return "quantize"; }
  std::vector<ladder::Dim> dims() const override {
    return {{"rows", 16384, 301, (std::size_t{1} << 31) - 1}, {"cols", 4096, 517, std::size_t{1} << 36}};
  }
  std::vector<ladder::Buffer> buffers(const ladder::Size& size) const override {
    if (static_cast<double>(size[0]) * static_cast<double>(size[1]) > 1e15) {
      throw ladder::UsageError("--rows: a matrix of " + std::to_string(size[0]) + " rows is too large");
    }
    const std::size_t n = size[0] * size[1];
    return {ladder::input<float>("x", n), ladder::output<std::int8_t>("q", n), ladder::output<float>("scale", size[0])};
  }
  void run(const ladder::Arrays& device, const ladder::Size& size) const override {
    launch_(device.at<const float>(0), device.at<std::int8_t>(1), device.at<float>(2), size[0], size[1]);
  }

  // Returns the scale of each row.
  std::vector<double> digest(const ladder::Arrays& host, const ladder::Size& size) const override {
    std::vector<double> scales(size[0]);
    ladder::parallel_for(size[0], 1 + (1 << 16) / (size[1] + 1), [&](std::size_t begin, std::size_t end) {
      for (std::size_t r = begin; r < end; ++r) {
        const float* row = host.at<const float>(0) + r * size[1];
        float most = 0;
        for (std::size_t c = 0; c < size[1] && !std::isnan(most); ++c) {
          if (!(std::fabs(row[c]) <= most)) most = std::fabs(row[c]);
        }
        scales[r] = most / 127.0f;
      }
    });
    return scales;
  }

  // scale must be bit-equal, and q too except near a tie. t = x / scale is at most 127 (1 + u), or 190 if scale is
  // subnormal. A double holds it to 2^-45, and t is a tie or at least 2^-25 away from one. In floats the error is at
  // most u |t| for one division, 2 u |t| for multiplying by 1 / scale, and 3 u |t| for multiplying by 127 / max,
  // because scale itself is rounded. If a tie is within 3 u |t| (1 + 4 u) of t, either neighbour is right: both are 1/2
  // from the tie. If scale is a power of two, nothing is rounded, and ties go to even.
  void expect(const ladder::Arrays& host, const ladder::Size& size, const ladder::Range& range, double* want,
              double* scale) const override {
    for (std::size_t i = range.begin; i < range.end; ++i) {
      double &w = want[i - range.begin], &s = scale[i - range.begin];
      s = 0;
      if (range.buffer == 2) {
        w = host.digest()[i];
        continue;
      }
      const double row_scale = host.digest()[i / size[1]];
      const double t = row_scale > 0 && std::isfinite(row_scale) ? host.at<const float>(0)[i] / row_scale : 0;
      const double tie = std::trunc(t) + std::copysign(0.5, t);
      int exponent;
      const bool rounds = std::frexp(row_scale, &exponent) != 0.5;
      w = std::fmin(std::fmax(std::nearbyint(t), -127.0), 127.0) + 0.0;  // -0 + 0 is +0
      if (!rounds || std::fabs(tie) > 127 || std::fabs(t - tie) > kRoundings * ladder::kUnitRoundoff * std::fabs(t)) {
        continue;
      }
      w = tie;
      s = 0.5;
    }
  }
  double tolerance(const ladder::Size&) const override { return 1; }

  std::vector<ladder::Pattern> patterns() const override {
    return {{"random", false, ladder::patterns::random},
            {"ties", false, ties},
            {"near ties", false, near_ties},
            {"outliers", false, outliers},
            {"tail", false, ladder::patterns::tail},
            {"subnormal", false, subnormal},
            {"all magnitudes", false, all_magnitudes},
            {"zeros", false, zeros},
            {"one NaN", false, one_special<&std::numeric_limits<double>::quiet_NaN>},
            {"one infinity", false, one_special<&std::numeric_limits<double>::infinity>},
            {"special", false, ladder::patterns::special}};
  }
  std::string corner(const ladder::Size&, const ladder::Pattern& pattern) const override {
    const std::string name = pattern.name;
    if (name != "subnormal" && name != "all magnitudes") return "";
    return "The scale of a row of tiny numbers is subnormal, or 0: dividing by it overflows.";
  }

  // Empty, single rows and columns, lengths around powers of two and around those at which steps change kernels, and
  // odd lengths, with which rows start at every distance from a 16-byte boundary.
  std::vector<ladder::Size> test_sizes() const override {
    std::vector<ladder::Size> sizes = {{0, 0}, {0, 7}, {7, 0}, {1, 1}, {70, 1}, {133, 3}, {67, 4}, {2, 1031}};
    for (const std::size_t cols : {2, 5, 16, 31, 32, 33, 64, 65, 127, 128, 129, 255, 256, 257})
      sizes.push_back({35, cols});
    for (const std::size_t cols : {511, 512, 513, 1023, 1024, 1025, 2047, 2049}) sizes.push_back({5, cols});
    for (const std::size_t cols : {4096, 4099, 8191, 16389, 35003}) sizes.push_back({2, cols});
    for (const std::size_t cols : {9001, 16387, 32768}) sizes.push_back({8, cols});
#ifndef CUDA_EMU  // enough rows for all SMs
    for (const std::size_t cols : {9001, 16387, 32768}) sizes.push_back({301, cols});
#endif
    return sizes;
  }
  // More than 2^31 elements in short rows and in long ones, and more than 2^32 threads with 32 per row.
  std::vector<ladder::Size> huge_sizes() const override {
    return {{(1 << 21) + 5, 1028}, {1025, (1 << 21) + 4}, {(1 << 27) + 5, 4}};
  }
  std::vector<ladder::Size> bench_sizes() const override {
    return {{65536, 128}, {32768, 1024}, {16384, 4096}, {4096, 32768}, {64, 1 << 20}};
  }
  double flops(const ladder::Size& size) const override {  // maximum, product, rounding
    return 3.0 * static_cast<double>(size[0]) * static_cast<double>(size[1]);
  }

 private:
  static constexpr double kRoundings = 3 * (1 + 4 * ladder::kUnitRoundoff);

  // Multiples of 1/2, up to 127: if a row has a 127, its scale is 1.
  static double ties(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t) {
    const std::uint64_t h = ladder::hash(seed, buffer, i);
    return h % 4 == 0 ? 127 : static_cast<double>(h / 4 % 509) / 2 - 127;
  }
  // Ties at the scale 100 / 127, rounded to floats.
  static double near_ties(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t) {
    const std::uint64_t h = ladder::hash(seed, buffer, i);
    return h % 4 == 0 ? 100 : (static_cast<double>(h / 4 % 253) - 126.5) * static_cast<double>(100.0f / 127.0f);
  }
  // One element in 16 is 64 times as large.
  static double outliers(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    return (ladder::hash(seed, buffer + 7, i) % 16 == 0 ? 64 : 1) * ladder::patterns::random(seed, buffer, i, n);
  }
  // Multiples of the smallest subnormal s: scales of 0, s and 2 s.
  static double subnormal(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t) {
    const std::uint64_t h = ladder::hash(seed, buffer, i);
    const std::uint64_t most = h % 3 == 0 ? 60 : h % 3 == 1 ? 200 : 300;
    return (h & 8 ? -1.0 : 1.0) * static_cast<double>(h / 16 % most) * std::numeric_limits<float>::denorm_min();
  }
  // 2^-149 to 2^127.
  static double all_magnitudes(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    const int exponent = static_cast<int>(ladder::hash(seed, buffer + 7, i) % 276) - 148;
    return std::ldexp(ladder::patterns::random(seed, buffer, i, n), exponent);
  }
  static double zeros(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t) {
    return ladder::hash(seed, buffer, i) % 2 ? -0.0 : 0.0;
  }
  template <double (*kValue)() noexcept>
  static double one_special(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    return i == n / 2 ? -kValue() : ladder::patterns::random(seed, buffer, i, n);
  }

  Launch launch_;
};
