// Adds two arrays of n floats: c[i] = a[i] + b[i].
// Each sum is rounded once, so it is bit-equal to the host's float addition.
// practice: easy, next transpose
#pragma once
#include "../elementwise.cuh"

class Add : public Elementwise {
 public:
  // a, b and c hold n floats and do not overlap. They need not be 16-byte aligned. n = 0 does nothing.
  using Launch = void (*)(const float* a, const float* b, float* c, std::size_t n);

  explicit Add(Launch launch) : launch_(launch) {}

  const char* kernel() const override { return "add"; }
  std::vector<ladder::Buffer> buffers(const ladder::Size& size) const override {
    return {ladder::input<float>("a", size[0]), ladder::input<float>("b", size[0]),
            ladder::output<float>("c", size[0])};
  }
  void run(const ladder::Arrays& device, const ladder::Size& size) const override {
    launch_(device.at<const float>(0), device.at<const float>(1), device.at<float>(2), size[0]);
  }
  void expect(const ladder::Arrays& host, const ladder::Size&, const ladder::Range& range, double* want,
              double* scale) const override {
    const float *a = host.at<const float>(0), *b = host.at<const float>(1);
    for (std::size_t i = range.begin; i < range.end; ++i) {
      want[i - range.begin] = a[i] + b[i];
      scale[i - range.begin] = 0;
    }
  }
  double flops(const ladder::Size& size) const override { return static_cast<double>(size[0]); }

 private:
  Launch launch_;
};
