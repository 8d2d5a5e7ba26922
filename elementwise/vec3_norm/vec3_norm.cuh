// The lengths of n vectors, in three layouts.
// out[i] = sqrt(x^2 + y^2 + z^2) for n vectors of three floats, given in three layouts. A step reads one of them.
// practice: easy, next rgb_to_gray
#pragma once
#include "../elementwise.cuh"

#include <cmath>

// The inputs, in the order of the buffers.
struct Vectors {
  const float* packed;     // array of structs: x, y, z of vector i at 3 i, 3 i + 1, 3 i + 2
  const float* padded;     // the same with a fourth, unused float: a vector has 16 bytes
  const float *x, *y, *z;  // structure of arrays
};

class Vec3Norm : public Elementwise {
 public:
  // out holds n floats. The pointers need not be 16-byte aligned. n = 0 does nothing.
  using Launch = void (*)(const Vectors& in, float* out, std::size_t n);

  explicit Vec3Norm(Launch launch) : launch_(launch) {}

  const char* kernel() const override { return "vec3_norm"; }
  std::vector<ladder::Buffer> buffers(const ladder::Size& size) const override {
    const std::size_t n = size[0];
    return {ladder::input<float>("packed", 3 * n), ladder::input<float>("padded", 4 * n),
            ladder::input<float>("x", n),          ladder::input<float>("y", n),
            ladder::input<float>("z", n),          ladder::output<float>("out", n)};
  }
  void run(const ladder::Arrays& device, const ladder::Size& size) const override {
    launch_({device.at<const float>(0), device.at<const float>(1), device.at<const float>(2), device.at<const float>(3),
             device.at<const float>(4)},
            device.at<float>(5), size[0]);
  }
  void expect(const ladder::Arrays& host, const ladder::Size&, const ladder::Range& range, double* want,
              double* scale) const override {
    for (std::size_t i = range.begin; i < range.end; ++i) {
      const double x = host.at<const float>(2)[i], y = host.at<const float>(3)[i], z = host.at<const float>(4)[i];
      want[i - range.begin] = scale[i - range.begin] = std::sqrt(x * x + y * y + z * z);
    }
  }
  // A square is rounded by its product and two additions, fused or not: (1 + u)^3. The root halves that error and
  // rounds once (sqrtf is correctly rounded): 2.5 u, and 0.1 u for second-order terms. No square over- or underflows:
  // components are 0, infinite, NaN, or between 2^-60 and 2^60.
  double tolerance(const ladder::Size&) const override { return 2.6 * ladder::kUnitRoundoff; }

  std::vector<ladder::Pattern> patterns() const override {
    return {{"random", false, in_all_layouts<ladder::patterns::random>},
            {"integer", false, in_all_layouts<ladder::patterns::integers>},
            {"special vectors", false, in_all_layouts<special>}};
  }
  std::vector<ladder::Size> huge_sizes() const override { return {{(std::size_t{1} << 31) / 3 + 5}}; }
  std::vector<ladder::Size> bench_sizes() const override { return {{std::size_t{1} << 24}, {std::size_t{1} << 26}}; }
  double flops(const ladder::Size& size) const override { return 6.0 * static_cast<double>(size[0]); }
  // Each vector counts once in any layout: 12 bytes read, 4 written.
  double bytes(const ladder::Size& size) const override { return 16.0 * static_cast<double>(size[0]); }

 private:
  using Value = double (*)(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n);

  // Component c of vector i is value(seed, c, i, n) in every buffer. Padding is NaN.
  template <Value value>
  static double in_all_layouts(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    if (buffer == 0) return value(seed, i % 3, i / 3, n / 3);
    if (buffer == 1) return i % 4 == 3 ? std::numeric_limits<double>::quiet_NaN() : value(seed, i % 4, i / 4, n / 4);
    return value(seed, buffer - 2, i, n);
  }

  // Every triple of `values`.
  static double special(std::uint64_t, std::size_t component, std::size_t i, std::size_t) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    constexpr double values[] = {0.0, -0.0, 1e-18, -1e-18,   1.0,       -3.0,
                                 4.0, 1e18, -1e18, infinity, -infinity, std::numeric_limits<double>::quiet_NaN()};
    constexpr std::size_t count = sizeof values / sizeof *values;
    for (std::size_t c = 0; c < component; ++c) i /= count;
    return values[i % count];
  }

  Launch launch_;
};
