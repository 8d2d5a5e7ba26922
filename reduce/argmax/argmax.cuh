// The index of the greatest of n floats.
// out[0] = the index of the greatest of x[0..n): the first one of equal elements, and -1 for n = 0. NaN counts as
// greater than all numbers and -0 as equal to +0, as in PyTorch and NumPy. Exact.
// practice: medium, next row_sum
#pragma once
#include "../reduction.cuh"

#include <cmath>

class Argmax : public Reduction {
 public:
  // x holds n floats, out one index. x need not be 16-byte aligned.
  using Launch = void (*)(const float* x, std::int64_t* out, std::size_t n);

  // keeps_nan: false for a library that specifies no result for NaN, nor for -infinity alone. Such data are not tested.
  explicit Argmax(Launch launch, bool keeps_nan = true) : launch_(launch), keeps_nan_(keeps_nan) {}

  const char* kernel() const override { return "argmax"; }
  std::vector<ladder::Buffer> buffers(const ladder::Size& size) const override {
    return {ladder::input<float>("x", size[0]), ladder::output<std::int64_t>("out", 1)};
  }
  void run(const ladder::Arrays& device, const ladder::Size& size) const override {
    launch_(device.at<const float>(0), device.at<std::int64_t>(1), size[0]);
  }
  void expect(const ladder::Arrays& host, const ladder::Size& size, const ladder::Range&, double* want,
              double* scale) const override {
    const float* x = host.at<const float>(0);
    *want = size[0] == 0 ? -1 : 0;
    *scale = 0;
    for (std::size_t i = 1, best = 0; i < size[0] && !std::isnan(x[best]); ++i) {
      if (x[i] > x[best] || std::isnan(x[i])) *want = static_cast<double>(best = i);
    }
  }
  double tolerance(const ladder::Size&) const override { return 0; }

  // "integer" has only eight values, so the maximum occurs many times.
  std::vector<ladder::Pattern> patterns() const override {
    std::vector<ladder::Pattern> all = {{"random", false, ladder::patterns::random},
                                        {"integer", false, ladder::patterns::integers},
                                        {"negative", false, ladder::patterns::negative},
                                        {"greatest last", false, ladder::patterns::greatest_last},
                                        {"few greatest", false, few_greatest}};
    if (!keeps_nan_) return all;
    all.push_back({"some NaN", false, some_nan});
    all.push_back({"one negative NaN", false, ladder::patterns::one_negative_nan});
    all.push_back({"zeros", false, ladder::patterns::zeros});
    all.push_back({"both infinities", false, ladder::patterns::both_infinities});
    all.push_back({"minus infinity", false, ladder::patterns::all_minus_infinity});
    return all;
  }
  std::string corner(const ladder::Size&, const ladder::Pattern& pattern) const override {
    const bool has_nan = std::strstr(pattern.name, "NaN") != nullptr;
    return has_nan ? "NaN > x is false for every x, so a NaN is passed over; here it counts as the greatest." : "";
  }

 private:
  // Three elements of the second half, if n is large enough.
  static bool is_special(std::size_t i, std::size_t n) { return i == n / 2 || i == n / 4 * 3 || i + 1 == n; }
  static double few_greatest(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    return is_special(i, n) ? 3.0 : ladder::patterns::random(seed, buffer, i, n);
  }
  static double some_nan(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    return is_special(i, n) ? std::numeric_limits<double>::quiet_NaN() : ladder::patterns::random(seed, buffer, i, n);
  }

  Launch launch_;
  bool keeps_nan_;
};
