// y = 2 x for n floats, bit-equal: a minimal problem for the tests of the build.
#pragma once
#include "ladder.cuh"

class Twice : public ladder::Problem {
 public:
  using Launch = void (*)(const float* x, float* y, std::size_t n);
  explicit Twice(Launch launch) : launch_(launch) {}

  const char* family() const override { return "family"; }
  const char* kernel() const override { return "twice"; }
  std::vector<ladder::Dim> dims() const override { return {{"n", 1000, 1000, 1 << 20}}; }
  std::vector<ladder::Buffer> buffers(const ladder::Size& size) const override {
    if (size[0] == 13) throw ladder::UsageError("--n: 13 is refused, to see whether the runner catches this");
    return {ladder::input<float>("x", size[0]), ladder::output<float>("y", size[0])};
  }
  void run(const ladder::Arrays& device, const ladder::Size& size) const override {
    launch_(device.at<const float>(0), device.at<float>(1), size[0]);
  }
  void expect(const ladder::Arrays& host, const ladder::Size&, const ladder::Range& range, double* want,
              double* scale) const override {
    for (std::size_t i = range.begin; i < range.end; ++i) {
      want[i - range.begin] = 2.0 * host.at<const float>(0)[i];
      scale[i - range.begin] = 0;
    }
  }
  double tolerance(const ladder::Size&) const override { return 0; }
  std::vector<ladder::Pattern> patterns() const override { return {{"random", false, ladder::patterns::random}}; }
  std::vector<ladder::Size> test_sizes() const override { return {{1}, {1000}}; }
  std::vector<ladder::Size> huge_sizes() const override { return {}; }
  std::vector<ladder::Size> bench_sizes() const override { return {{1000}}; }

 private:
  Launch launch_;
};
