// Histogram of floats in bins of equal width.
// counts[b] = the number of elements of x in bin b of `bins` equal ones from lower to upper. In float arithmetic,
// rounded after each operation, the bin of an x with lower <= x < upper is the integer part of (x - lower) * (bins /
// (upper - lower)), or the last bin if rounding exceeds it. NaN and elements outside the range, upper included, are not
// counted (NumPy counts upper in the last bin). Exact. Source: as histogram.cuh.
// practice: medium, next copy
#pragma once
#include "ladder.cuh"

// Returns the bin of x, or -1 if x is in none. scale = bins / (upper - lower).
__host__ __device__ inline int bin_of(float x, float lower, float upper, float scale, int bins) {
  if (!(x >= lower && x < upper)) return -1;
  const int bin = static_cast<int>((x - lower) * scale);
  return bin < bins ? bin : bins - 1;
}

class HistogramFloat : public ladder::Problem {
 public:
  // x: n < 2^31 floats, any alignment; must not change. counts: `bins` elements, 1 to 4096, overwritten. lower < upper;
  // upper - lower and bins / (upper - lower) are normal numbers.
  using Launch = void (*)(const float* x, int* counts, std::size_t n, int bins, float lower, float upper);

  explicit HistogramFloat(Launch launch) : launch_(launch) {}

  const char* family() const override { return "reduce"; }
  const char* kernel() const override { return "histogram_float"; }
  // bins = 0 means 256.
  std::vector<ladder::Dim> dims() const override {
    return {{"n", std::size_t{1} << 26, (1 << 17) + 13, std::numeric_limits<int>::max()}, {"bins", 0, 0, 4096}};
  }
  std::vector<ladder::Scalar> scalars() const override { return {{"lower", -1.0f}, {"upper", 1.0f}}; }
  std::vector<ladder::Buffer> buffers(const ladder::Size& size) const override {
    const float width = size.scalars[1] - size.scalars[0];
    if (!(width > 0) || !std::isnormal(width) || !std::isnormal(scale_of(size))) {
      throw ladder::UsageError("--upper: must be above --lower, with a distance that floats can express");
    }
    return {ladder::input<float>("x", size[0]), ladder::output<int>("counts", bins_of(size))};
  }
  void run(const ladder::Arrays& device, const ladder::Size& size) const override {
    launch_(device.at<const float>(0), device.at<int>(1), size[0], bins_of(size), size.scalars[0], size.scalars[1]);
  }
  std::vector<double> digest(const ladder::Arrays& host, const ladder::Size& size) const override {
    std::vector<double> counts(bins_of(size));
    for (std::size_t i = 0; i < size[0]; ++i) {
      const int bin =
          bin_of(host.at<const float>(0)[i], size.scalars[0], size.scalars[1], scale_of(size), bins_of(size));
      if (bin >= 0) counts[bin] += 1;
    }
    return counts;
  }
  void expect(const ladder::Arrays& host, const ladder::Size&, const ladder::Range& range, double* want,
              double* scale) const override {
    for (std::size_t b = range.begin; b < range.end; ++b) want[b - range.begin] = host.digest()[b];
    std::fill(scale, scale + (range.end - range.begin), 0.0);
  }
  double tolerance(const ladder::Size&) const override { return 0; }

  // "integer": values on borders of bins and outside; "below a border": the last float before a border, which may round
  // up.
  std::vector<ladder::Pattern> patterns() const override {
    return {{"random", true, ladder::patterns::random},    {"special", true, ladder::patterns::special},
            {"integer", true, ladder::patterns::integers}, {"below a border", true, below_a_border},
            {"tail", true, ladder::patterns::tail},        {"one value", true, one_value}};
  }
  std::vector<ladder::Size> test_sizes() const override {
    std::vector<ladder::Size> sizes;
    for (const std::size_t n : {0, 1, 2, 3, 4, 5, 7, 31, 33, 255, 257, 1025, 4093, 16387, 70001}) {
      sizes.push_back(ladder::Size({n, 0}, {-1, 1}));
    }
    for (const std::size_t bins : {1, 2, 3, 10, 255, 1000, 4096}) {
      sizes.push_back(ladder::Size({5003, bins}, {-4, 5}));
      sizes.push_back(ladder::Size({5003, bins}, {-0.3f, 0.7f}));
    }
    return sizes;
  }
  std::vector<ladder::Size> huge_sizes() const override {
    return {ladder::Size({static_cast<std::size_t>(std::numeric_limits<int>::max()), 0}, {-1, 1})};
  }
  std::vector<ladder::Size> bench_sizes() const override {
    return {ladder::Size({std::size_t{1} << 24, 0}, {-1, 1}), ladder::Size({std::size_t{1} << 28, 0}, {-1, 1}),
            ladder::Size({std::size_t{1} << 28, 4096}, {-1, 1})};
  }
  ladder::Ceiling ceiling() const override { return ladder::Ceiling::read; }

 private:
  static int bins_of(const ladder::Size& size) { return size[1] == 0 ? 256 : static_cast<int>(size[1]); }
  static float scale_of(const ladder::Size& size) {
    return static_cast<float>(bins_of(size)) / (size.scalars[1] - size.scalars[0]);
  }
  // Returns a multiple of 1/8 from -1 to 1, moved to the next float below.
  static double below_a_border(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t) {
    const float border = static_cast<float>(ladder::hash(seed, buffer, i) % 17) / 8 - 1;
    return std::nextafter(border, -2.0f);
  }
  static double one_value(std::uint64_t seed, std::size_t, std::size_t, std::size_t) {
    return 0.25 + 0.125 * static_cast<double>(seed);
  }

  Launch launch_;
};
