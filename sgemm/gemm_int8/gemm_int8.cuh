// Int8 matrix product with scales per row and column (W8A8).
// A is m x k and B is n x k, both int8 and row-major without gaps, so k is contiguous in both, as int8 tensor cores
// require (TN). C is m x n in FP32:
//   C[i][j] = (sum over l of A[i][l] * B[j][l]) * row_scales[i] * column_scales[j]
// The sum is exact, in int32. No product exceeds 2^14 (-128 * -128), so it can't overflow while k < 2^17, which is
// required. Int8 is symmetric here: no zero points, and -128 is a value like any other. Scales are positive. k = 0
// gives 0. A layer would round C to BF16; in FP32 the check sees each bit of the sum.
// practice: hard, next gemm_fp8
#pragma once
#include "../../common/sampled_rows.cuh"

class GemmInt8 : public ladder::Problem {
 public:
  // Nothing overlaps. Pointers need only the alignment of an element. m and n are below 2^31; any of m, n, k may be 0.
  using Launch = void (*)(const std::int8_t* A, const std::int8_t* B, const float* row_scales,
                          const float* column_scales, float* C, std::size_t m, std::size_t n, std::size_t k);

  explicit GemmInt8(Launch launch) : launch_(launch) {}

  const char* family() const override { return "sgemm"; }
  const char* kernel() const override { return "gemm_int8"; }
  std::vector<ladder::Dim> dims() const override {
    constexpr std::size_t most = (std::size_t{1} << 31) - 1;
    return {{"m", 4096, 131, most}, {"n", 4096, 140, most}, {"k", 4096, 208, (1 << 17) - 1}};
  }
  std::vector<ladder::Buffer> buffers(const ladder::Size& size) const override {
    const std::size_t m = size[0], n = size[1], k = size[2];
    if (static_cast<double>(m) * static_cast<double>(std::max(n, k)) > 1e15) {
      throw ladder::UsageError("--m: a matrix of " + std::to_string(m) + " rows is too large");
    }
    return {ladder::input<std::int8_t>("A", m * k), ladder::input<std::int8_t>("B", n * k),
            ladder::input<float>("row_scales", m), ladder::input<float>("column_scales", n),
            ladder::output<float>("C", m * n)};
  }
  void run(const ladder::Arrays& device, const ladder::Size& size) const override {
    launch_(device.at<const std::int8_t>(0), device.at<const std::int8_t>(1), device.at<const float>(2),
            device.at<const float>(3), device.at<float>(4), size[0], size[1], size[2]);
  }

  // The sum is exact, so only three roundings are left: that of the sum to FP32, if it has more than 24 bits, and those
  // of two products, in any order. The error is at most gamma_2 or gamma_3 of |C|, gamma_n = n u / (1 - n u).
  void expect(const ladder::Arrays& host, const ladder::Size& size, const ladder::Range& range, double* want,
              double* scale) const override {
    constexpr double u = ladder::kUnitRoundoff;
    const std::size_t m = size[0], n = size[1], k = size[2];
    for (std::size_t at = range.begin; at < range.end; ++at) {
      double &w = want[at - range.begin], &s = scale[at - range.begin];
      const std::size_t i = at / n, j = at % n;
      if (!is_sampled_row(m, n, k, i)) {
        w = 0;
        s = std::numeric_limits<double>::infinity();
        continue;
      }
      const std::int8_t *a = host.at<const std::int8_t>(0) + i * k, *b = host.at<const std::int8_t>(1) + j * k;
      std::int32_t sum = 0;  // k is below 2^17
      for (std::size_t l = 0; l < k; ++l) sum += a[l] * b[l];
      const double exact = sum;
      w = exact * host.at<const float>(2)[i] * host.at<const float>(3)[j];
      const double roundings = std::fabs(exact) > 1 << 24 ? 3 : 2;
      s = roundings * u / (1 - roundings * u) * std::fabs(w);
    }
  }
  double tolerance(const ladder::Size&) const override { return 1; }
  bool has_answer(const ladder::Size& size, std::size_t element) const override {
    return is_sampled_row(size[0], size[1], size[2], element / size[1]);
  }

  std::vector<ladder::Pattern> patterns() const override {
    return {{"random", false, random},
            {"integer", true, integers},
            {"tail", true, tail},
            {"extremes", true, extremes},
            {"largest sums", true, largest},
            {"cancellation", true, integers},
            {"NaN in a row's scale", false, nan_in_scale<2>},
            {"NaN in a column's scale", false, nan_in_scale<3>}};
  }
  // Cancellation: sums that exceed 2^24 and end small. Bits that FP32 loses on the way show.
  double element(const ladder::Size& size, const ladder::Pattern& pattern, std::uint64_t seed, std::size_t buffer,
                 std::size_t i, std::size_t n) const override {
    const double value = pattern.value(seed, buffer, i, n);
    if (buffer > 1 || pattern.name != std::string("cancellation")) return value;
    const double large = 126.0 + static_cast<double>(ladder::hash(seed, buffer, i) & 1);
    return buffer == 1 && i % size[2] >= size[2] / 2 ? -large : large;
  }
  // Empty; one row, one column, one product; around a chunk of 16 bytes, fragments of 8, 16 and 32, tiles of 64 to 256;
  // unaligned k; sums beyond 2^24.
  std::vector<ladder::Size> test_sizes() const override {
    std::vector<ladder::Size> sizes = {
        {0, 0, 0},     {0, 5, 3},       {5, 0, 3},      {5, 8, 0},     {1, 1, 1},    {1, 67, 5},     {71, 1, 6},
        {2, 3, 4},     {8, 8, 32},      {16, 16, 64},   {17, 16, 33},  {15, 24, 16}, {63, 65, 48},   {65, 63, 64},
        {64, 64, 80},  {127, 129, 128}, {129, 136, 15}, {33, 260, 17}, {64, 72, 96}, {66, 130, 272}, {20, 70, 144},
        {70, 20, 191}, {130, 128, 112}, {3, 5, 521},    {9, 12, 40},   {5, 8, 4400}};
#ifndef CUDA_EMU  // for the kernels that the CPU backend cannot run: several large tiles, the longest sums
    sizes.push_back({515, 520, 304});
    sizes.push_back({520, 516, 261});
    sizes.push_back({300, 1032, 1040});
    sizes.push_back({256, 512, 640});
    sizes.push_back({2, 4, (1 << 17) - 1});
    sizes.push_back({3, 4, (1 << 17) - 16});
#endif
    return sizes;
  }
  // A, B and C in turn have more than 2^31 elements, and more than 65535 * 32 rows or columns.
  std::vector<ladder::Size> huge_sizes() const override {
    return {{(1 << 21) + 5, 4, 1040}, {3, (1 << 21) + 4, 1040}, {(1 << 21) + 5, 1028, 16}};
  }
  std::vector<ladder::Size> bench_sizes() const override {
    std::vector<ladder::Size> sizes;
    for (const std::size_t n : {1024, 2048, 4096, 8192}) sizes.push_back({n, n, n});
    return sizes;
  }
  double flops(const ladder::Size& size) const override {
    return 2.0 * static_cast<double>(size[0]) * static_cast<double>(size[1]) * static_cast<double>(size[2]);
  }
  // Copies of A and B with aligned rows.
  double scratch_bytes(const ladder::Size& size) const override {
    return (static_cast<double>(size[0]) + static_cast<double>(size[1])) * static_cast<double>(size[2] + 15);
  }

 private:
  static double any_byte(std::uint64_t seed, std::size_t buffer, std::size_t i) {
    return static_cast<double>(ladder::hash(seed, buffer, i) >> 56) - 128;
  }
  static double random(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    return buffer < 2 ? any_byte(seed, buffer, i) : (ladder::patterns::random(seed, buffer, i, n) + 2) / 128;
  }
  static double power_of_two(std::uint64_t seed, std::size_t buffer, std::size_t i) {
    return std::ldexp(1.0, static_cast<int>(ladder::hash(seed, buffer, i) % 8) - 6);
  }
  // Sums are a random walk with steps of about 5500, below 2^24 for any k.
  static double integers(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t) {
    return buffer < 2 ? any_byte(seed, buffer, i) : power_of_two(seed, buffer, i);
  }
  // Only the last four elements of A matter.
  static double tail(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    return buffer == 0 ? ladder::patterns::tail(seed, buffer, i, n) : integers(seed, buffer, i, n);
  }
  static double extremes(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    constexpr double bytes[] = {-128, 127, -1, 0};
    return buffer < 2 ? bytes[ladder::hash(seed, buffer, i) % 4] : integers(seed, buffer, i, n);
  }
  // k products of 2^14, exact in FP32.
  static double largest(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t) {
    return buffer < 2 ? -128.0 : power_of_two(seed, buffer, i);
  }
  template <std::size_t kBuffer>
  static double nan_in_scale(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    const bool here = buffer == kBuffer && i + 1 == n;
    return here ? std::numeric_limits<double>::quiet_NaN() : random(seed, buffer, i, n);
  }

  Launch launch_;
};
