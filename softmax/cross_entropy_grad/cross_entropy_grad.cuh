// Gradient of the row-wise cross entropy by its logits.
//   dx_rj = (softmax(x_r)_j - [j = target_r]) * scale,
// where [...] is 1 if the condition holds, else 0. scale is the gradient of each row's loss: 1 / rows for their mean.
//
// Decided: a target outside of [0, cols) makes its row NaN, as the loss of `cross_entropy` is. (PyTorch stops the
// program, except for one value that it ignores: zeros.) NaN, +inf or only -inf in a row makes the row NaN.
// practice: medium, next softmax
#pragma once
#include "../softmax_problem.cuh"

class CrossEntropyGrad : public SoftmaxProblem {
 public:
  // x and dx hold rows * cols floats without gaps, target one int per row. Arrays do not overlap and need not be
  // 16-byte aligned; cols need not be a multiple of 4. rows and cols may be 0; rows is below 2^31. scale is finite.
  using Launch = void (*)(const float* x, const int* target, float* dx, std::size_t rows, std::size_t cols,
                          float scale);

  // roundings: those of the softmax, as SoftmaxProblem counts them.
  explicit CrossEntropyGrad(Launch launch, Roundings roundings = any_roundings)
      : SoftmaxProblem(roundings), launch_(launch) {}

  const char* kernel() const override { return "cross_entropy_grad"; }
  std::vector<ladder::Dim> dims() const override {
    return {{"rows", 4096, 67, (std::size_t{1} << 31) - 1}, {"cols", 50257, 517, std::size_t{1} << 36}};
  }
  std::vector<ladder::Scalar> scalars() const override { return {{"scale", kScale}}; }
  std::vector<ladder::Buffer> buffers(const ladder::Size& size) const override {
    const std::size_t count = SoftmaxProblem::buffers(size).front().count;  // or UsageError
    return {ladder::input<float>("x", count), ladder::input<int>("target", size[0]),
            ladder::output<float>("dx", count)};
  }
  void run(const ladder::Arrays& device, const ladder::Size& size) const override {
    launch_(device.at<const float>(0), device.at<const int>(1), device.at<float>(2), size[0], size[1], size.scalars[0]);
  }

  // SoftmaxProblem::tolerance() bounds the error of the softmax. The subtraction and the product with scale add u of
  // the result each. Results below 2^-126 are multiples of 2^-149, and so is a softmax, which scale then multiplies.
  void expect(const ladder::Arrays& host, const ladder::Size& size, const ladder::Range& range, double* want,
              double* scale) const override {
    const double factor = size.scalars[0];
    for (std::size_t k = range.begin; k < range.end; ++k) {
      const std::size_t r = k / size[1];
      const int target = host.at<const int>(1)[r];
      const bool known = target >= 0 && static_cast<std::size_t>(target) < size[1];
      const double* d = host.digest().data() + 3 * r;
      const double t = host.at<const float>(0)[k] - d[0], y = std::exp(t) / d[1], p = y < kSmallestFloat / 2 ? 0 : y;
      const double hit = known && k % size[1] == static_cast<std::size_t>(target) ? 1 : 0;
      want[k - range.begin] = known ? (p - hit) * factor : std::numeric_limits<double>::quiet_NaN();
      scale[k - range.begin] = std::fabs(factor) * ((p > 0 ? p * (1 + (std::fabs(t) + d[2]) / kLeastRoundings) : 0) +
                                                    2 * std::fabs(p - hit) / kLeastRoundings) +
                               8 * (1 + std::fabs(factor)) * kSmallestFloat / (kLeastRoundings * ladder::kUnitRoundoff);
    }
  }

  std::vector<ladder::Pattern> patterns() const override {
    return {{"random", false, with_targets<spread, inside>},
            {"one hot", true, with_targets<one_hot, inside>},
            {"targets outside", false, with_targets<spread, some_outside>},
            {"rising", false, with_targets<rising, last>},
            {"equal", false, with_targets<equal, inside>},
            {"thousands", false, with_targets<thousands, inside>},
            {"huge negative", false, with_targets<huge_negative, inside>},
            {"one +inf", false, with_targets<one_infinity, inside>},
            {"tenths", false, with_targets<tenths, last>},
            {"extremes", false, with_targets<extremes, inside>},
            {"-inf here and there", false, with_targets<masked, inside>},
            {"-inf in a block", false, with_targets<block, inside>},
            {"one NaN", false, with_targets<one_nan, inside>}};
  }
  // A pattern gives a target as a fraction of cols.
  double element(const ladder::Size& size, const ladder::Pattern& pattern, std::uint64_t seed, std::size_t buffer,
                 std::size_t i, std::size_t n) const override {
    const double value = pattern.value(seed, buffer, i, n);
    constexpr double most = std::numeric_limits<int>::max();
    return buffer == 1 ? std::fmin(std::floor(value * static_cast<double>(size[1])), most) : value;
  }

  // Empty sizes, single rows and columns; lengths around powers of two, blocks and what a thread loads at once; odd
  // lengths, whose rows have any alignment; rows longer than a block's shared memory.
  std::vector<ladder::Size> test_sizes() const override {
    std::vector<ladder::Size> sizes = {{0, 0}, {0, 7}, {7, 0}, {1, 1}, {70, 1}, {133, 3}, {67, 4}, {2, 1031}};
    for (const std::size_t cols : {2, 5, 8, 11, 16, 31, 32, 33, 64, 65, 127, 128, 129}) sizes.push_back({11, cols});
    for (const std::size_t cols : {255, 256, 257, 511, 512, 513, 1023, 1024, 1028, 2049}) sizes.push_back({5, cols});
    for (const std::size_t cols : {4096, 4097, 8191, 12345}) sizes.push_back({3, cols});
    for (const std::size_t cols : {50257, 57851, 57857, 60004, 100003}) sizes.push_back({1, cols});
    for (ladder::Size& size : sizes) size.scalars = {0.3f};
    sizes.push_back({{5, 300}, {kScale}});
    sizes.push_back({{5, 300}, {1e-38f}});
    return sizes;
  }
  // More than 2^31 elements in short rows, in long ones and in a single one.
  std::vector<ladder::Size> huge_sizes() const override {
    return {{{(1 << 21) + 5, 1028}, {kScale}},
            {{1025, (1 << 21) + 4}, {kScale}},
            {{1, (std::size_t{1} << 31) + 9}, {kScale}}};
  }
  std::vector<ladder::Size> bench_sizes() const override {
    return {
        {{32768, 1024}, {kScale}}, {{16384, 4096}, {kScale}}, {{4096, 50257}, {kScale}}, {{1024, 128256}, {kScale}}};
  }
  double flops(const ladder::Size& size) const override {  // max, subtract, exp, add, scale, scale
    return 6.0 * static_cast<double>(size[0]) * static_cast<double>(size[1]);
  }

 protected:
  Vectors vectors(const ladder::Size& size) const override { return {size[0], size[1], size[1], 1}; }

 private:
  static constexpr float kScale = 1.0f / 4096;

  template <double (*kLogit)(std::uint64_t, std::size_t, std::size_t, std::size_t), double (*kShare)(std::uint64_t)>
  static double with_targets(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    return buffer == 0 ? kLogit(seed, buffer, i, n) : kShare(ladder::hash(seed, buffer, i));
  }
  static double inside(std::uint64_t h) { return static_cast<double>(h >> 11) / (std::uint64_t{1} << 53); }
  static double last(std::uint64_t) { return 1 - 1e-12; }
  // A quarter of the targets is below 0, a quarter is cols, and a few are far beyond.
  static double some_outside(std::uint64_t h) {
    if (h % 16 == 0) return 1e12;
    return h % 4 == 1 ? -inside(h) - 1e-9 : h % 4 == 2 ? 1 : inside(h);
  }

  Launch launch_;
};
