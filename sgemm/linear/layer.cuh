// The base of linear layers: C = f(A W^T + bias), BF16 with FP32 sums. Problems have their own f, a batch many layers.
#pragma once
#include "sampled_rows.cuh"
#include "tensor_core_error.hpp"

#include <cuda_bf16.h>

class Layer : public ladder::Problem {
 public:
  // A is m x k, W n x k and C m x n, row-major without gaps; bias has n elements, one for each column of C. All are
  // BF16. C is rounded once, to nearest, ties to even. Pointers need only the alignment of an element. m, n and k are
  // below 2^31 and may be 0; with k = 0 the sums are 0. Nothing overlaps.
  using Launch = void (*)(const __nv_bfloat16* A, const __nv_bfloat16* W, const __nv_bfloat16* bias, __nv_bfloat16* C,
                          std::size_t m, std::size_t n, std::size_t k);

  explicit Layer(Launch launch) : launch_(launch) {}

  const char* family() const override { return "sgemm"; }
  std::vector<ladder::Dim> dims() const override {
    constexpr std::size_t most = (std::size_t{1} << 31) - 1;
    return {{"m", 4096, 131, most}, {"n", 4096, 137, most}, {"k", 4096, 67, most}};
  }
  std::vector<ladder::Buffer> buffers(const ladder::Size& size) const override {
    const auto [m, n, k, layers] = shape(size);
    const std::size_t rows = layers * m, outputs = layers * n;
    for (const double elements : {area(rows, k), area(outputs, k), area(rows, n)}) {
      if (elements > 1e15) throw ladder::UsageError("--m, --n, --k: a matrix is too large");
    }
    const ladder::Buffer C =
        reads_c() ? ladder::inout<__nv_bfloat16>("C", rows * n) : ladder::output<__nv_bfloat16>("C", rows * n);
    return {ladder::input<__nv_bfloat16>("A", rows * k), ladder::input<__nv_bfloat16>("W", outputs * k),
            ladder::input<__nv_bfloat16>("bias", outputs), C};
  }
  void run(const ladder::Arrays& device, const ladder::Size& size) const override {
    launch_(device.at<const __nv_bfloat16>(0), device.at<const __nv_bfloat16>(1), device.at<const __nv_bfloat16>(2),
            device.at<__nv_bfloat16>(3), size[0], size[1], size[2]);
  }

  // The FP32 sum of products, bias and perhaps C is within E = tensor_core_gamma(k) (|A| |W|^T + |bias| + |C|) of the
  // exact sum z: the two additions after the product are the two roundings that gamma has to spare. f adds its own
  // error, and then C is rounded. Rounding is monotonic, so C is between BF16(f(z) - e) and BF16(f(z) + e), where e is
  // the total error of f(z). The scale is the larger distance of these two from BF16(f(z)).
  void expect(const ladder::Arrays& host, const ladder::Size& size, const ladder::Range& range, double* want,
              double* scale) const override {
    const auto [m, n, k, layers] = shape(size);
    const auto at = [&](std::size_t buffer) { return host.at<const __nv_bfloat16>(buffer); };
    const double gamma = tensor_core_gamma(k) + rounded_before();
    for (std::size_t i = range.begin; i < range.end; ++i) {
      const std::size_t row = i / n, output = row / m * n + i % n;  // of all layers
      double &w = want[i - range.begin], &s = scale[i - range.begin];
      w = 0, s = std::numeric_limits<double>::infinity();
      if (!is_sampled_row(layers * m, n, k, row)) continue;
      double sum = number(at(2)[output]), magnitude = std::fabs(sum);
      if (reads_c()) {
        sum += number(at(3)[i]);
        magnitude += std::fabs(number(at(3)[i]));
      }
      const __nv_bfloat16 *a = at(0) + row * k, *b = at(1) + output * k;
      for (std::size_t l = 0; l < k; ++l) {
        const double product = number(a[l]) * number(b[l]);
        sum += product;
        magnitude += std::fabs(product);
      }
      double error = gamma * magnitude;
      const double exact = activation(sum, error);
      w = to_bf16(exact);
      if (!std::isfinite(exact) || !std::isfinite(error)) continue;
      s = std::max(to_bf16(exact + error) - w, w - to_bf16(exact - error));
      if (s == 0 && w == 0) s = ladder::kEitherZero;
    }
  }
  double tolerance(const ladder::Size&) const override { return 1; }

  std::vector<ladder::Pattern> patterns() const override {
    return {{"random", false, ladder::patterns::random},
            {"integer", true, ladder::patterns::integers},
            {"positive", false, positive},
            {"NaN at the end of A", false, at_end<0>},
            {"infinity at the end of W", false, at_end<1>},
            {"NaN at the end of the bias", false, at_end<2>}};
  }
  // Empty; one row, column or product; around fragments of 8 and 16 and tiles of 32 to 256; k of several stages, with a
  // remainder, odd, 2 more than a multiple of 8; several tiles in each dimension.
  std::vector<ladder::Size> test_sizes() const override {
    std::vector<ladder::Size> sizes = {
        {0, 0, 0},      {0, 5, 3},     {5, 0, 3},      {5, 7, 0},     {1, 1, 1},      {1, 67, 5},     {71, 1, 6},
        {2, 3, 4},      {8, 8, 8},     {16, 16, 16},   {17, 15, 33},  {15, 24, 17},   {63, 65, 15},   {65, 63, 70},
        {128, 128, 64}, {127, 129, 8}, {129, 136, 72}, {7, 5, 521},   {64, 64, 32},   {128, 128, 36}, {20, 70, 40},
        {70, 20, 37},   {3, 300, 200}, {300, 3, 96},   {1, 40, 1304}, {40, 24, 1601}, {130, 264, 136}};
#ifndef CUDA_EMU  // for the kernels that the CPU backend cannot run: several large tiles, a long k, more tiles than SMs
    for (const ladder::Size& size : {ladder::Size{72, 200, 21688},
                                     {515, 520, 300},
                                     {520, 513, 264},
                                     {140, 2001, 521},
                                     {300, 1032, 600},
                                     {257, 256, 320}}) {
      sizes.push_back(size);
    }
    sizes.push_back({128 * static_cast<std::size_t>(sm_count()) + 1, 72, 328});
    sizes.push_back({3, 256 * static_cast<std::size_t>(sm_count()) + 1, 331});
#endif
    return sizes;
  }
  // A, W and C in turn have more than 2^31 elements.
  std::vector<ladder::Size> huge_sizes() const override {
    return {{(1 << 21) + 5, 3, 1025}, {3, (1 << 21) + 5, 1025}, {(1 << 21) + 5, 1025, 2}};
  }
  // Cubes; the two layers of a language model's block with a batch of 8192 tokens, of 64 and of one.
  std::vector<ladder::Size> bench_sizes() const override {
    return {{4096, 4096, 4096}, {8192, 8192, 8192}, {8192, 11008, 4096}, {8192, 4096, 11008},
            {64, 11008, 4096},  {1, 11008, 4096},   {4095, 4095, 4095}};
  }
  bool has_answer(const ladder::Size& size, std::size_t element) const override {
    const auto [m, n, k, layers] = shape(size);
    return is_sampled_row(layers * m, n, k, element / n);
  }

  double flops(const ladder::Size& size) const override {
    const auto [m, n, k, layers] = shape(size);
    return 2.0 * area(layers * m, n) * static_cast<double>(k);
  }
  // The sums in FP32, or copies of A and W with aligned rows.
  double scratch_bytes(const ladder::Size& size) const override {
    const auto [m, n, k, layers] = shape(size);
    return std::max(4 * area(layers * m, n), 2 * (area(layers * m, k + 7) + area(layers * n, k + 7)));
  }

 protected:
  // `layers` layers of the same size, contiguous in each array.
  struct Shape {
    std::size_t m, n, k, layers;
  };
  virtual Shape shape(const ladder::Size& size) const { return {size[0], size[1], size[2], 1}; }
  static double to_bf16(double value) { return static_cast<float>(__double2bfloat16(value)); }

 private:
  // Returns f(z), and turns the error of z into that of f(z) in FP32.
  virtual double activation(double z, double& error) const = 0;
  virtual bool reads_c() const { return false; }
  // Returns the error before the last rounding, besides the sum's, as a share of |A| |W|^T + |bias| + |C|.
  virtual double rounded_before() const { return 0; }

  static double area(std::size_t rows, std::size_t columns) {
    return static_cast<double>(rows) * static_cast<double>(columns);
  }
  static double number(__nv_bfloat16 value) { return static_cast<double>(static_cast<float>(value)); }
  // Data for which GELU does not turn half of the sums into 0.
  static double positive(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    return std::fabs(ladder::patterns::random(seed, buffer, i, n));
  }
  template <std::size_t kBuffer>
  static double at_end(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    if (buffer != kBuffer || i != n - 1) return ladder::patterns::random(seed, buffer, i, n);
    return kBuffer == 1 ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  }

  Launch launch_;
};
