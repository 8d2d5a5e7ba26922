// The greatest of n floats.
// out[0] = the greatest of x[0..n), and -infinity for n = 0. Bit-equal. A NaN makes the result NaN, as in PyTorch and
// NumPy, and +0 is greater than -0: this is the operation maximum of IEEE 754-2019. (fmaxf ignores NaN.)
// practice: medium, next argmax
#pragma once
#include "../reduction.cuh"

#include <cmath>

class Max : public Reduction {
 public:
  // x holds n floats, out one. x need not be 16-byte aligned and must not be changed.
  using Launch = void (*)(const float* x, float* out, std::size_t n);

  // keeps_nan: false for a library that specifies no result for NaN or the sign of zero. Such data are not tested.
  explicit Max(Launch launch, bool keeps_nan = true) : launch_(launch), keeps_nan_(keeps_nan) {}

  const char* kernel() const override { return "max"; }
  std::vector<ladder::Buffer> buffers(const ladder::Size& size) const override {
    return {ladder::input<float>("x", size[0]), ladder::output<float>("out", 1)};
  }
  void run(const ladder::Arrays& device, const ladder::Size& size) const override {
    launch_(device.at<const float>(0), device.at<float>(1), size[0]);
  }
  void expect(const ladder::Arrays& host, const ladder::Size& size, const ladder::Range&, double* want,
              double* scale) const override {
    const float* x = host.at<const float>(0);
    *want = -std::numeric_limits<double>::infinity();
    *scale = 0;
    for (std::size_t i = 0; i < size[0] && !std::isnan(*want); ++i) {
      const bool above = x[i] > *want || (x[i] == *want && std::signbit(*want));
      if (above || std::isnan(x[i])) *want = x[i];
    }
  }
  double tolerance(const ladder::Size&) const override { return 0; }  // bit-equal

  std::vector<ladder::Pattern> patterns() const override {
    std::vector<ladder::Pattern> all = {{"random", false, ladder::patterns::random},
                                        {"negative", false, ladder::patterns::negative},
                                        {"greatest last", false, ladder::patterns::greatest_last},
                                        {"zeros after 1", false, ladder::patterns::zeros_after_one}};
    if (!keeps_nan_) return all;
    all.push_back({"one NaN", false, ladder::patterns::one_nan});
    all.push_back({"one negative NaN", false, ladder::patterns::one_negative_nan});
    all.push_back({"zeros", false, ladder::patterns::zeros});
    all.push_back({"both infinities", false, ladder::patterns::both_infinities});
    all.push_back({"minus infinity", false, ladder::patterns::all_minus_infinity});
    return all;
  }

 private:
  Launch launch_;
  bool keeps_nan_;
};
