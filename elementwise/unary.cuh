// What copy, relu and sigmoid have in common: y[i] = f(x[i]) for n floats, each read once and written once.
#pragma once
#include "ladder.cuh"

#include <cmath>

class Unary : public ladder::Problem {
 public:
  // x and y hold n floats and do not overlap. Neither need be 16-byte aligned. n = 0 does nothing.
  using Launch = void (*)(const float* x, float* y, std::size_t n);

  explicit Unary(Launch launch) : launch_(launch) {}

  const char* family() const override { return "elementwise"; }
  std::vector<ladder::Dim> dims() const override {
    return {{"n", std::size_t{1} << 26, (1 << 17) + 13, std::size_t{1} << 36}};
  }
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
      scale[i - range.begin] = error_scale(want[i - range.begin]);
    }
  }
  double tolerance(const ladder::Size&) const override { return 0; }  // bit-equal

  std::vector<ladder::Pattern> patterns() const override {
    return {{"random", false, ladder::patterns::random}, {"special", false, ladder::patterns::special}};
  }
  std::vector<ladder::Size> test_sizes() const override { return ladder::awkward_lengths(); }
  std::vector<ladder::Size> huge_sizes() const override { return {{(std::size_t{1} << 31) + 3}}; }
  std::vector<ladder::Size> bench_sizes() const override {
    return {{std::size_t{1} << 24}, {std::size_t{1} << 26}, {std::size_t{1} << 28}, {std::size_t{1} << 30}};
  }

 protected:
  virtual double value(double x) const = 0;                                 // f in double
  virtual double error_scale(double want) const { return std::abs(want); }  // see Problem::expect

 private:
  Launch launch_;
};
