// Base class of copy and the activation functions: y[i] = f(x[i]) for n floats.
#pragma once
#include "elementwise.cuh"

#include <cmath>

class Unary : public Elementwise {
 public:
  // x and y hold n floats and do not overlap. They need not be 16-byte aligned. n = 0 does nothing.
  using Launch = void (*)(const float* x, float* y, std::size_t n);

  explicit Unary(Launch launch) : launch_(launch) {}

  std::vector<ladder::Buffer> buffers(const ladder::Size& size) const override {
    return {ladder::input<float>("x", size[0]), ladder::output<float>("y", size[0])};
  }
  void run(const ladder::Arrays& device, const ladder::Size& size) const override {
    launch_(device.at<const float>(0), device.at<float>(1), size[0]);
  }
  void expect(const ladder::Arrays& host, const ladder::Size&, const ladder::Range& range, double* want,
              double* scale) const override {
    const float* x = host.at<const float>(0);
    for (std::size_t i = range.begin; i < range.end; ++i) {
      want[i - range.begin] = value(x[i]);
      scale[i - range.begin] = error_scale(x[i], want[i - range.begin]);
    }
  }

 protected:
  virtual double value(double x) const = 0;  // f in double
  // Returns the scale of Problem::expect; `want` is f(x).
  virtual double error_scale(double /*x*/, double want) const { return std::abs(want); }

 private:
  Launch launch_;
};

// Base class of smooth functions, also tested from -16 to 16, where they bend and their tails begin.
class Activation : public Unary {
 public:
  using Unary::Unary;
  std::vector<ladder::Pattern> patterns() const override {
    std::vector<ladder::Pattern> all = Unary::patterns();
    all.push_back({"wide", false, wide});
    return all;
  }

 private:
  static double wide(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    return 16 * ladder::patterns::random(seed, buffer, i, n);
  }
};
