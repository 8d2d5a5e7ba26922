// The cross-entropy loss of each row of logits.
//   loss_r = -log softmax(x_r)[target_r] = log(sum_j exp(x_j - m)) - (x_target - m),   m = max_j x_j.
//
// Decided: a target outside of [0, cols) gives NaN. (PyTorch stops the program, except for one value that it ignores.)
// NaN, +inf or only -inf in a row gives NaN; a target of -inf beside other values gives +inf, as does an overflow.
// practice: medium, next cross_entropy_grad
#pragma once
#include "../softmax_problem.cuh"

class CrossEntropy : public SoftmaxProblem {
 public:
  // x holds rows * cols floats without gaps; target and loss hold one element per row. Arrays do not overlap and need
  // not be 16-byte aligned; cols need not be a multiple of 4. rows and cols may be 0; rows is below 2^31.
  using Launch = void (*)(const float* x, const int* target, float* loss, std::size_t rows, std::size_t cols);

  explicit CrossEntropy(Launch launch, Roundings roundings = any_roundings, double scratch_per_element = 0)
      : SoftmaxProblem(roundings), launch_(launch), scratch_per_element_(scratch_per_element) {}

  const char* kernel() const override { return "cross_entropy"; }
  std::vector<ladder::Dim> dims() const override {
    return {{"rows", 4096, 67, (std::size_t{1} << 31) - 1}, {"cols", 50257, 517, std::size_t{1} << 36}};
  }
  std::vector<ladder::Buffer> buffers(const ladder::Size& size) const override {
    const std::size_t count = SoftmaxProblem::buffers(size).front().count;  // or UsageError
    return {ladder::input<float>("x", count), ladder::input<int>("target", size[0]),
            ladder::output<float>("loss", size[0])};
  }
  void run(const ladder::Arrays& device, const ladder::Size& size) const override {
    launch_(device.at<const float>(0), device.at<const int>(1), device.at<float>(2), size[0], size[1]);
  }

  // The sum has a relative error of (roundings + mean) u (SoftmaxProblem::tolerance()), which is its logarithm's
  // absolute error. logf adds 2 u |log sum|, x_target - m adds u of itself, and the result adds u of the loss, at most
  // u of both together.
  void expect(const ladder::Arrays& host, const ladder::Size& size, const ladder::Range& range, double* want,
              double* scale) const override {
    for (std::size_t r = range.begin; r < range.end; ++r) {
      const int target = host.at<const int>(1)[r];
      double &loss = want[r - range.begin], &s = scale[r - range.begin];
      loss = std::numeric_limits<double>::quiet_NaN();
      s = 0;
      if (target < 0 || static_cast<std::size_t>(target) >= size[1]) continue;
      const double* d = host.digest().data() + 3 * r;
      const double t = host.at<const float>(0)[r * size[1] + target] - d[0], log_sum = std::log(d[1]);
      loss = log_sum - t;
      s = 1 + (d[2] + 3 * std::fabs(log_sum) + 2 * std::fabs(t)) / kLeastRoundings;
      constexpr double above_all_floats = std::numeric_limits<float>::max() * (1 + ladder::kUnitRoundoff / 2);
      if (loss > above_all_floats) loss = std::numeric_limits<double>::infinity();
    }
  }

  bool finite_on_random() const override { return false; }  // some targets are out of range

  std::vector<ladder::Pattern> patterns() const override {
    return {{"random", false, with_targets<spread>},
            {"rising", false, with_targets<rising>},
            {"equal", false, with_targets<equal>},
            {"thousands", false, with_targets<thousands>},
            {"huge negative", false, with_targets<huge_negative>},
            {"one +inf", false, with_targets<one_infinity>},
            {"tenths", false, with_targets<tenths>},
            {"extremes", false, with_targets<extremes>},
            {"-inf here and there", false, with_targets<masked>},
            {"-inf in a block", false, with_targets<block>},
            {"one NaN", false, with_targets<one_nan>}};
  }

  // Empty sizes, single rows and columns; lengths around powers of two and where steps switch kernels; odd lengths,
  // whose rows have any alignment; more rows than a tile has; long rows that are cut into parts.
  std::vector<ladder::Size> test_sizes() const override {
    std::vector<ladder::Size> sizes = {{0, 0}, {0, 7}, {7, 0}, {1, 1}, {70, 1}, {133, 3}, {67, 4}, {2, 1031}};
    for (const std::size_t cols : {2, 5, 16, 31, 32, 33, 64, 65, 127, 128, 129}) sizes.push_back({35, cols});
    for (const std::size_t cols : {511, 512, 513, 1023, 1024, 1025, 2047, 2049}) sizes.push_back({9, cols});
    for (const std::size_t cols : {4096, 4097, 8191, 12345, 50257}) sizes.push_back({5, cols});
    sizes.insert(sizes.end(), {{515, 2}, {133, 12}, {70, 20}, {35, 48}, {35, 96}, {3, 8193}, {2, 40000}, {1, 100003}});
    return sizes;
  }
  // More than 2^31 elements in short rows, in long ones and in a single one.
  std::vector<ladder::Size> huge_sizes() const override {
    return {{(1 << 28) + 3, 10}, {(1 << 21) + 5, 1028}, {1025, (1 << 21) + 4}, {1, (std::size_t{1} << 31) + 9}};
  }
  std::vector<ladder::Size> bench_sizes() const override {
    return {{32768, 1024}, {16384, 4096}, {4096, 50257}, {1024, 128256}, {1 << 22, 10}, {8, 8000009}};
  }
  ladder::Ceiling ceiling() const override { return ladder::Ceiling::read; }
  double flops(const ladder::Size& size) const override {  // max, subtract, exp, add
    return 4.0 * static_cast<double>(size[0]) * static_cast<double>(size[1]);
  }
  double scratch_bytes(const ladder::Size& size) const override {
    return scratch_per_element_ * static_cast<double>(size[0]) * static_cast<double>(size[1]);
  }

 protected:
  Vectors vectors(const ladder::Size& size) const override { return {size[0], size[1], size[1], 1}; }

 private:
  // Targets, log-uniform: half up to 10^5, half up to 64, as row lengths are unknown here; some below 0 or very large.
  template <double (*kLogit)(std::uint64_t, std::size_t, std::size_t, std::size_t)>
  static double with_targets(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    if (buffer == 0) return kLogit(seed, buffer, i, n);
    const std::uint64_t h = ladder::hash(seed, buffer, i);
    if (h % 32 == 0) return -1 - static_cast<double>(h >> 40) * 100;
    if (h % 32 == 1) return std::numeric_limits<int>::max();
    const double most = h / 32 % 2 == 0 ? 1e5 : 64;
    return std::floor(std::exp(static_cast<double>(h >> 11) / (std::uint64_t{1} << 53) * std::log(most))) - 1;
  }

  Launch launch_;
  double scratch_per_element_;
};
