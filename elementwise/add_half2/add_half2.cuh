// Adds two arrays of n halves: c[i] = a[i] + b[i].
// Each sum is rounded once, to the nearest half, ties to even: bit-equal to the exact sum rounded.
// practice: easy, next rope
#pragma once
#include "../elementwise.cuh"

#include <cuda_fp16.h>

class AddHalf2 : public Elementwise {
 public:
  // a, b and c hold n halves and do not overlap. 2-byte alignment is enough. n = 0 does nothing.
  using Launch = void (*)(const __half* a, const __half* b, __half* c, std::size_t n);

  explicit AddHalf2(Launch launch) : launch_(launch) {}

  const char* kernel() const override { return "add_half2"; }
  std::vector<ladder::Buffer> buffers(const ladder::Size& size) const override {
    return {ladder::input<__half>("a", size[0]), ladder::input<__half>("b", size[0]),
            ladder::output<__half>("c", size[0])};
  }
  void run(const ladder::Arrays& device, const ladder::Size& size) const override {
    launch_(device.at<const __half>(0), device.at<const __half>(1), device.at<__half>(2), size[0]);
  }
  // A float has 24 = 2 * 11 + 2 significant bits. With that many, a sum rounded to float and then to half equals the
  // sum rounded to half directly (Figueroa, When is double rounding innocuous?, SIGNUM Newsletter 30, 1995).
  void expect(const ladder::Arrays& host, const ladder::Size&, const ladder::Range& range, double* want,
              double* scale) const override {
    const __half *a = host.at<const __half>(0), *b = host.at<const __half>(1);
    for (std::size_t i = range.begin; i < range.end; ++i) {
      want[i - range.begin] = __half2float(__float2half(__half2float(a[i]) + __half2float(b[i])));
      scale[i - range.begin] = 0;
    }
  }
  std::vector<ladder::Pattern> patterns() const override {
    return {{"random", false, ladder::patterns::random}, {"special halves", false, special}};
  }
  double flops(const ladder::Size& size) const override { return static_cast<double>(size[0]); }

 private:
  // Every pair of special halves across the two inputs: zeros, subnormals, the extremes, sums that tie or overflow.
  static double special(std::uint64_t, std::size_t buffer, std::size_t i, std::size_t) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    constexpr double least = 1.0 / (1 << 24), normal = 1.0 / (1 << 14), epsilon = 1.0 / (1 << 10);
    constexpr double values[] = {0.0,         -0.0,    least,    -least,    3 * least,
                                 normal,      -normal, 1.0,      -1.0,      1 + epsilon,
                                 epsilon / 2, 2048.0,  2049.0,   65504.0,   -65504.0,
                                 16.0,        -16.0,   infinity, -infinity, std::numeric_limits<double>::quiet_NaN()};
    constexpr std::size_t count = sizeof values / sizeof *values;
    return values[(buffer == 0 ? i : i / count) % count];
  }

  Launch launch_;
};
