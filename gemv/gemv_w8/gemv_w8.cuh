// Int8 weights times a BF16 vector (W8A16).
// W is n x k, row-major without gaps, in int8. Every 128 weights of a row form a group with one FP32 scale; if k isn't
// a multiple of 128, the last group is shorter. With groups = ceil(k / 128):
//   y[r] = sum over j of scales[r * groups + j / 128] * W[r * k + j] * x[j], added in FP32.
// Weights are symmetric: no zero point, and -128 is a value like any other. Scales may have any sign. k = 0 gives 0.
// practice: medium, next gemv_w4
#pragma once
#include "ladder.cuh"

#include <cuda_bf16.h>

class GemvW8 : public ladder::Problem {
 public:
  // W has n * k elements, scales has n * groups, x has k, y has n. The arrays don't overlap; pointers need only be
  // aligned to an element, and k may be any number. n is below 2^31; n and k may be 0.
  using Launch = void (*)(const std::int8_t* W, const float* scales, const __nv_bfloat16* x, float* y, std::size_t n,
                          std::size_t k);

  explicit GemvW8(Launch launch) : launch_(launch) {}

  const char* family() const override { return "gemv"; }
  const char* kernel() const override { return "gemv_w8"; }
  std::vector<ladder::Dim> dims() const override {
    return {{"n", 8192, 301, (std::size_t{1} << 31) - 1}, {"k", 8192, 1040, std::size_t{1} << 36}};
  }
  std::vector<ladder::Buffer> buffers(const ladder::Size& size) const override {
    if (static_cast<double>(size[0]) * static_cast<double>(size[1]) > 1e15) {
      throw ladder::UsageError("--n: a matrix of " + std::to_string(size[0]) + " rows is too large");
    }
    return {ladder::input<std::int8_t>("W", size[0] * size[1]),
            ladder::input<float>("scales", size[0] * ceil_div(size[1], kGroup)),
            ladder::input<__nv_bfloat16>("x", size[1]), ladder::output<float>("y", size[0])};
  }
  void run(const ladder::Arrays& device, const ladder::Size& size) const override {
    launch_(device.at<const std::int8_t>(0), device.at<const float>(1), device.at<const __nv_bfloat16>(2),
            device.at<float>(3), size[0], size[1]);
  }

  // The product of an int8 and a BF16 number has 16 bits and is exact in FP32; scale * weight is rounded. Whichever
  // comes first, a term is rounded at most twice by products and k - 1 times by additions, in any order. So the error
  // is at most gamma_(k + 1) sum |scale| |w| |x|, gamma_n = n u / (1 - n u) (Higham, Accuracy and Stability of
  // Numerical Algorithms, 2nd ed., lemma 3.1). Where n u isn't small, n u replaces gamma_n (Jeannerod and Rump, SIAM J.
  // Matrix Anal. Appl. 34, 2013). If all terms are 0, +0 and -0 are both accepted.
  void expect(const ladder::Arrays& host, const ladder::Size& size, const ladder::Range& range, double* want,
              double* scale) const override {
    const std::size_t k = size[1], groups = ceil_div(k, kGroup);
    const __nv_bfloat16* x = host.at<const __nv_bfloat16>(2);
    for (std::size_t r = range.begin; r < range.end; ++r) {
      const std::int8_t* row = host.at<const std::int8_t>(0) + r * k;
      const float* scales = host.at<const float>(1) + r * groups;
      double sum = 0, magnitude = 0;
      for (std::size_t j = 0; j < k; ++j) {
        const double term = static_cast<double>(scales[j / kGroup]) * row[j] * static_cast<float>(x[j]);
        sum += term;
        magnitude += std::fabs(term);
      }
      want[r - range.begin] = sum;
      scale[r - range.begin] = magnitude == 0 && k > 0 ? ladder::kEitherZero : magnitude;
    }
  }
  double tolerance(const ladder::Size& size) const override {
    const double nu = static_cast<double>(size[1] + 1) * ladder::kUnitRoundoff;
    return nu < 0.01 ? nu / (1 - nu) : nu;
  }
  // Sums on exact patterns are random walks of integers with steps of about 550.
  bool exact(const ladder::Size& size) const override { return size[1] <= std::size_t{1} << 24; }

  std::vector<ladder::Pattern> patterns() const override {
    return {{"random", false, random},
            {"integer", true, integers},
            {"tail", true, tail_of_x},
            {"extremes", true, extremes},
            {"NaN in x", false, nan_at_end<2>},
            {"NaN in a scale", false, nan_at_end<1>},
            {"infinity in x", false, infinity_in_x}};
  }
  // Empty matrices; one row, one column; n near the rows of a warp and of a block; k near 16, 128 (a group), 512 (a
  // warp's load) and 2048 weights; odd k, so that rows start at every offset from a 16-byte boundary.
  std::vector<ladder::Size> test_sizes() const override {
    std::vector<ladder::Size> sizes = {{0, 0},    {0, 7},     {7, 0},     {1, 1},    {300, 1},  {1, 70001},
                                       {1, 8192}, {2, 16400}, {33, 2048}, {65, 528}, {130, 272}};
    for (const std::size_t k : {8,   24,  136, 1032, 2,   3,   15,  16,  17,  31,  32,  33,   48,   112,  127,
                                128, 129, 144, 240,  255, 256, 257, 511, 512, 513, 640, 1024, 1039, 1040, 1152}) {
      sizes.push_back({19, k});
    }
    for (const std::size_t n : {2, 3, 4, 5, 8, 31, 32, 34}) sizes.push_back({n, 400});
    return sizes;
  }
  // More than 2^31 weights; more than 2^32 threads if a row has 32 lanes.
  std::vector<ladder::Size> huge_sizes() const override { return {{(1 << 21) + 5, 1040}, {(1 << 27) + 5, 19}}; }
  std::vector<ladder::Size> bench_sizes() const override {
    return {{4096, 4096}, {8192, 8192}, {28672, 4096}, {4096, 14336}, {128256, 4096}};
  }
  double flops(const ladder::Size& size) const override {
    return 2.0 * static_cast<double>(size[0]) * static_cast<double>(size[1]);
  }
  ladder::Ceiling ceiling() const override { return ladder::Ceiling::read; }
  // Step 01 stores the matrix in FP32.
  double scratch_bytes(const ladder::Size& size) const override { return 2 * flops(size); }

 private:
  static constexpr std::size_t kGroup = 128;

  static double any_byte(std::uint64_t seed, std::size_t i) {
    return static_cast<double>(ladder::hash(seed, 0, i) >> 56) - 128;
  }
  static double random(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    if (buffer == 0) return any_byte(seed, i);
    const double value = ladder::patterns::random(seed, buffer, i, n);
    return buffer == 1 ? (value + 2) / 128 : value;
  }
  static double integers(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    return buffer == 0 ? any_byte(seed, i) : ladder::patterns::integers(seed, buffer, i, n);
  }
  // x is 0 except for its last four elements.
  static double tail_of_x(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    return buffer == 2 ? ladder::patterns::tail(seed, buffer, i, n) : integers(seed, buffer, i, n);
  }
  static double extremes(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    constexpr double weights[] = {-128, 127, -1, 0};
    return buffer == 0 ? weights[ladder::hash(seed, 0, i) % 4] : integers(seed, buffer, i, n);
  }
  template <std::size_t kBuffer>
  static double nan_at_end(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    const bool here = buffer == kBuffer && i + 1 == n;
    return here ? std::numeric_limits<double>::quiet_NaN() : random(seed, buffer, i, n);
  }
  // Infinity times a weight of 0 is NaN.
  static double infinity_in_x(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    const bool here = buffer == 2 && i == n / 2;
    return here ? std::numeric_limits<double>::infinity() : extremes(seed, buffer, i, n);
  }

  Launch launch_;
};
