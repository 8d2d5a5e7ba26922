// Histogram of bytes: how often each occurs.
// counts[b] = how often byte b occurs in x; exact. Source: Podlozhnyuk, "Histogram calculation in CUDA", NVIDIA, 2007.
// practice: medium, next histogram_float
#pragma once
#include "ladder.cuh"

constexpr int kBins = 256;

class Histogram : public ladder::Problem {
 public:
  // x: n < 2^31 bytes at any address; must not change. counts: 256 elements, 4-byte aligned, overwritten.
  using Launch = void (*)(const std::uint8_t* x, int* counts, std::size_t n);

  explicit Histogram(Launch launch) : launch_(launch) {}

  const char* family() const override { return "reduce"; }
  const char* kernel() const override { return "histogram"; }
  std::vector<ladder::Dim> dims() const override {
    return {{"n", std::size_t{1} << 28, (1 << 17) + 13, std::numeric_limits<int>::max()}};
  }
  std::vector<ladder::Buffer> buffers(const ladder::Size& size) const override {
    return {ladder::input<std::int8_t>("x", size[0]), ladder::output<int>("counts", kBins)};
  }
  void run(const ladder::Arrays& device, const ladder::Size& size) const override {
    launch_(device.at<const std::uint8_t>(0), device.at<int>(1), size[0]);
  }
  std::vector<double> digest(const ladder::Arrays& host, const ladder::Size& size) const override {
    std::vector<std::size_t> counts(kBins);
    for (std::size_t i = 0; i < size[0]; ++i) ++counts[host.at<const std::uint8_t>(0)[i]];
    return {counts.begin(), counts.end()};
  }
  void expect(const ladder::Arrays& host, const ladder::Size&, const ladder::Range& range, double* want,
              double* scale) const override {
    for (std::size_t b = range.begin; b < range.end; ++b) want[b - range.begin] = host.digest()[b];
    std::fill(scale, scale + (range.end - range.begin), 0.0);
  }
  double tolerance(const ladder::Size&) const override { return 0; }

  // "one value" and "two values" make threads contend for a counter; "sorted" has long runs.
  std::vector<ladder::Pattern> patterns() const override {
    return {{"uniform", true, uniform},       {"one value", true, one_value}, {"sorted", true, sorted},
            {"two values", true, two_values}, {"tail", true, tail},           {"mostly one", true, mostly_one}};
  }
  // Sizes near 16 bytes, a warp, a block and a tile, and some at which a 16-bit counter overflows.
  std::vector<ladder::Size> test_sizes() const override {
    std::vector<ladder::Size> sizes;
    for (const std::size_t n : {0,  1,   2,   3,   4,    5,    15,   16,   17,    18,    31,    32,     33,
                                47, 255, 256, 257, 1023, 1025, 4093, 4096, 16387, 65537, 70001, 131075, 300007}) {
      sizes.push_back({n});
    }
    return sizes;
  }
  std::vector<ladder::Size> huge_sizes() const override {
    return {{static_cast<std::size_t>(std::numeric_limits<int>::max())}};
  }
  std::vector<ladder::Size> bench_sizes() const override {
    return {{std::size_t{1} << 20}, {std::size_t{1} << 24}, {std::size_t{1} << 28}};
  }
  ladder::Ceiling ceiling() const override { return ladder::Ceiling::read; }

 private:
  // Returns a byte as the int8 that stores it: 200 is -56.
  static double byte(std::uint64_t value) { return static_cast<std::int8_t>(value & 255); }
  static double uniform(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t) {
    return byte(ladder::hash(seed, buffer, i));
  }
  static double one_value(std::uint64_t seed, std::size_t, std::size_t, std::size_t) { return byte(199 + seed); }
  static double two_values(std::uint64_t, std::size_t, std::size_t i, std::size_t) { return byte(i % 2 ? 255 : 3); }
  static double sorted(std::uint64_t, std::size_t, std::size_t i, std::size_t n) { return byte(256 * i / n); }
  // The last four elements have values that occur only once.
  static double tail(std::uint64_t, std::size_t, std::size_t i, std::size_t n) {
    return byte(n - i <= 4 ? 250 + (n - i) : 0);
  }
  static double mostly_one(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t) {
    const std::uint64_t h = ladder::hash(seed, buffer, i);
    return byte(h >> 8 & 7 ? 128 : h);
  }

  Launch launch_;
};
