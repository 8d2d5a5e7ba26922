// The base of the products in FP8: sizes, data, and a model of how a tensor core adds.
#pragma once
#include "../../common/sampled_rows.cuh"
#include "e4m3.cuh"
#include "tensor_core_error.hpp"

// A is m x k, B is n x k, both e4m3, one byte per element, and row-major without gaps; C is m x n in FP32.
class Fp8Gemm : public ladder::Problem {
 public:
  // Nothing overlaps. Pointers need only the alignment of an element. m, n and k are below 2^31, and any may be 0.
  using Launch = void (*)(const std::uint8_t* A, const std::uint8_t* B, const float* a_scales, const float* b_scales,
                          float* C, std::size_t m, std::size_t n, std::size_t k);

  explicit Fp8Gemm(Launch launch) : launch_(launch) {}

  const char* family() const override { return "sgemm"; }
  std::vector<ladder::Dim> dims() const override {
    constexpr std::size_t most = (std::size_t{1} << 31) - 1;
    return {{"m", 4096, 131, most}, {"n", 4096, 144, most}, {"k", 4096, 272, most}};
  }
  std::vector<ladder::Buffer> buffers(const ladder::Size& size) const override {
    const std::size_t m = size[0], n = size[1], k = size[2];
    if (static_cast<double>(std::max(m, n)) * static_cast<double>(std::max(std::min(m, n), k)) > 1e15) {
      throw ladder::UsageError("--m, --n, --k: a matrix is too large");
    }
    return {ladder::input<std::uint8_t>("A", m * k), ladder::input<std::uint8_t>("B", n * k),
            ladder::input<float>("a_scales", a_scales(size)), ladder::input<float>("b_scales", b_scales(size)),
            ladder::output<float>("C", m * n)};
  }
  void run(const ladder::Arrays& device, const ladder::Size& size) const override {
    launch_(device.at<const std::uint8_t>(0), device.at<const std::uint8_t>(1), device.at<const float>(2),
            device.at<const float>(3), device.at<float>(4), size[0], size[1], size[2]);
  }

  // A model of FP8 tensor cores, Ada's mma.sync and Hopper's wgmma: the exact products of a group of at least 16 k and
  // the accumulator are aligned to the largest, cut off 13 bits behind its first bit, and added; the sum is cut off
  // there too (DeepSeek-V3 Technical Report, section 3.5.2: 14 bits are kept, which fits an H200's errors). Each of the
  // n + 2 cuts of a group of n loses less than d = 2^-13 of the largest number. That is at most R plus the error so
  // far. R is the range of the running sum over k, which bounds the sum of any run of k, plus the largest product,
  // where a subnormal counts as 2^-6, as its exponent says. So k products lose less than ((1 + (n + 2) d)^(k / n) - 1)
  // R, at most (exp(1.125 k d) - 1) R. Sums in FP32, rounded or cut off, lose up to tensor_core_gamma(k) |A| |B| (see
  // there), which is added. If sums are promoted, each block has its own k, R and scale. GPUs that keep more bits are
  // within the bound too. It is wide: sums that no cut touches must be exact, and find mistakes that it would admit.
  void expect(const ladder::Arrays& host, const ladder::Size& size, const ladder::Range& range, double* want,
              double* scale) const override {
    const std::size_t m = size[0], n = size[1], k = size[2], block = block_of(size);
    const double gamma = tensor_core_gamma(k + 2);  // and two products with scales
    for (std::size_t at = range.begin; at < range.end; ++at) {
      double &w = want[at - range.begin], &s = scale[at - range.begin];
      const std::size_t i = at / n, j = at % n;
      w = s = 0;
      if (!is_sampled_row(m, n, k, i)) {
        s = std::numeric_limits<double>::infinity();
        continue;
      }
      for (std::size_t first = 0; first < k || first == 0; first += std::max<std::size_t>(block, 1)) {
        const std::size_t count = std::min(block, k - first);
        const Sum sum = sum_of(host.at<const std::uint8_t>(0) + i * k + first,
                               host.at<const std::uint8_t>(1) + j * k + first, count);
        const double scales = scale_of(host, size, i, j, first);
        w += scales * sum.value;
        const double cuts = 1.125 * static_cast<double>((count + 31) / 32 * 32);
        s += std::fabs(scales) * (std::expm1(cuts / (1 << 13)) * sum.range + gamma * sum.magnitude);
      }
      if (s == 0 && w == 0 && k > 0) s = ladder::kEitherZero;
    }
  }
  double tolerance(const ladder::Size&) const override { return 1; }
  // Sums of the whole numbers below are a random walk with steps of 7.5. They stay below 2^14, so no cut loses a bit.
  bool exact(const ladder::Size& size) const override { return size[2] <= 1 << 16; }
  bool has_answer(const ladder::Size& size, std::size_t element) const override {
    return is_sampled_row(size[0], size[1], size[2], element / size[1]);
  }

  std::vector<ladder::Pattern> patterns() const override {
    return {{"random", false, random},
            {"integer", true, integers},
            {"tail", true, tail},
            {"any number", false, any},
            {"NaN in A", false, nan_at_end<0>},
            {"NaN in B", false, nan_at_end<1>},
            {"NaN in a scale of A", false, nan_at_end<2>},
            {"NaN in a scale of B", false, nan_at_end<3>}};
  }
  // Empty; one row, one column, one product; around a chunk of 16 bytes, fragments of 8, 16 and 32, blocks of 128,
  // tiles of 64 to 256; unaligned k; k of more stages than are in flight.
  std::vector<ladder::Size> test_sizes() const override {
    std::vector<ladder::Size> sizes = {{0, 0, 0},     {0, 16, 3},     {5, 0, 3},      {5, 16, 0},     {1, 1, 1},
                                       {1, 67, 5},    {71, 1, 6},     {2, 3, 4},      {8, 16, 32},    {16, 16, 128},
                                       {17, 16, 33},  {15, 24, 144},  {63, 65, 48},   {65, 64, 129},  {64, 63, 127},
                                       {127, 129, 8}, {129, 144, 15}, {33, 272, 160}, {64, 80, 1040}, {66, 130, 272},
                                       {20, 70, 255}, {70, 20, 384},  {3, 5, 521},    {4, 16, 1301}};
#ifndef CUDA_EMU  // for the kernels that the CPU backend cannot run: several large tiles, long sums
    sizes.push_back({515, 528, 304});
    sizes.push_back({520, 516, 261});
    sizes.push_back({300, 1040, 1040});
    sizes.push_back({256, 512, 640});
    sizes.push_back({72, 208, 21696});
#endif
    return sizes;
  }
  // A, B and C in turn have more than 2^31 elements, and more than 65535 * 32 rows or columns.
  std::vector<ladder::Size> huge_sizes() const override {
    return {{(1 << 21) + 5, 16, 1040}, {3, (1 << 21) + 16, 1040}, {(1 << 21) + 5, 1040, 16}};
  }
  std::vector<ladder::Size> bench_sizes() const override {
    std::vector<ladder::Size> sizes;
    for (const std::size_t n : {1024, 2048, 4096, 8192}) sizes.push_back({n, n, n});
    return sizes;
  }
  double flops(const ladder::Size& size) const override {
    return 2.0 * static_cast<double>(size[0]) * static_cast<double>(size[1]) * static_cast<double>(size[2]);
  }
  // Copies of A and B with aligned rows, and for the library a copy of C.
  double scratch_bytes(const ladder::Size& size) const override {
    const auto m = static_cast<double>(size[0]), n = static_cast<double>(size[1]);
    return (m + n) * static_cast<double>(size[2] + 15) + 4 * m * n;
  }

 protected:
  virtual std::size_t a_scales(const ladder::Size& size) const = 0;
  virtual std::size_t b_scales(const ladder::Size& size) const = 0;
  // Returns the number of k after which sums are promoted; k if only at the end.
  virtual std::size_t block_of(const ladder::Size& size) const = 0;
  // Returns the product of the two scales for row i of A and row j of B, from k = `first` on.
  virtual double scale_of(const ladder::Arrays& host, const ladder::Size& size, std::size_t i, std::size_t j,
                          std::size_t first) const = 0;

 private:
  struct Sum {
    double value, range, magnitude;
  };
  static Sum sum_of(const std::uint8_t* a, const std::uint8_t* b, std::size_t count) {
    static const Numbers numbers;
    double sum = 0, least = 0, most = 0, largest = 0, magnitude = 0;
    for (std::size_t l = 0; l < count; ++l) {
      const double product = numbers.value[a[l]] * numbers.value[b[l]];
      sum += product;  // exact: multiples of 2^-18
      least = std::min(least, sum);
      most = std::max(most, sum);
      magnitude += std::fabs(product);
      if (product != 0) largest = std::max(largest, numbers.size[a[l]] * numbers.size[b[l]]);
    }
    return {sum, most - least + largest, magnitude};
  }
  // Values by their bits, and their magnitudes, at least that of the smallest normal number.
  struct Numbers {
    double value[256], size[256];
    Numbers() {
      for (unsigned i = 0; i < 256; ++i) {
        value[i] = from_e4m3(static_cast<std::uint8_t>(i));
        size[i] = std::max(std::fabs(value[i]), 1.0 / 64);
      }
    }
  };

  // Returns the bits of a number that e4m3 represents exactly, and not as a subnormal.
  static double bits_of(double value) {
    if (value == 0) return 0;
    int exponent = 0;
    const double fraction = std::frexp(std::fabs(value), &exponent);  // in [1/2, 1)
    return (value < 0 ? 128 : 0) + 8 * (exponent - 1 + 7) + 8 * (2 * fraction - 1);
  }
  // About uniform in (-4, 4): half of the magnitudes are 2 or more, a quarter 1 to 2, and so on down to 2^-6.
  static double random(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    if (buffer > 1) return (ladder::patterns::random(seed, buffer, i, n) + 2) / 128;
    const std::uint64_t h = ladder::hash(seed, buffer, i);
    int exponent = 8;
    while (exponent > 1 && (h >> exponent & 1) != 0) --exponent;
    return static_cast<double>((h >> 63) * 128 + static_cast<unsigned>(exponent) * 8 + (h >> 60 & 7));
  }
  static double power_of_two(std::uint64_t seed, std::size_t buffer, std::size_t i) {
    return std::ldexp(1.0, static_cast<int>(ladder::hash(seed, buffer, i) % 4) - 3);
  }
  static double integers(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    if (buffer > 1) return power_of_two(seed, buffer, i);
    return bits_of(ladder::patterns::integers(seed, buffer, i, n));
  }
  // Only the last four elements of A matter.
  static double tail(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    return buffer == 0 ? bits_of(ladder::patterns::tail(seed, buffer, i, n)) : integers(seed, buffer, i, n);
  }
  // Any bits except NaN: zeros, subnormals and 448 are as likely as others.
  static double any(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    if (buffer > 1) return random(seed, buffer, i, n);
    const std::uint64_t h = ladder::hash(seed, buffer, i);
    return static_cast<double>((h >> 63) * 128 + h % 127);
  }
  template <std::size_t kBuffer>
  static double nan_at_end(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    if (buffer != kBuffer || i + 1 != n) return random(seed, buffer, i, n);
    return buffer < 2 ? 0x7f : std::numeric_limits<double>::quiet_NaN();
  }

  Launch launch_;
};
