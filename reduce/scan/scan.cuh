// Prefix sums, inclusive or exclusive.
// out[i] = x[0] + ... + x[i] (inclusive), or x[0] + ... + x[i-1] with out[0] = 0 (exclusive). Any order of additions is
// right. NaN and infinities affect only the results whose sums contain them.
// practice: hard, next compact
#pragma once
#include "../reduction.cuh"

class Scan : public ladder::Problem {
 public:
  // x and out hold n floats and do not overlap. They need not be 16-byte aligned, and x must not be changed.
  using Launch = void (*)(const float* x, float* out, std::size_t n, bool exclusive);

  // The largest number of additions that an element passes through on its way into a result.
  using Height = std::size_t (*)(std::size_t n);

  // timed: the largest n that is timed, for steps that leave most SMs idle and would take seconds.
  explicit Scan(Launch launch, Height height = any_order, std::size_t timed = std::size_t{1} << 28)
      : launch_(launch), height_(height), timed_(timed) {}

  const char* family() const override { return "reduce"; }
  const char* kernel() const override { return "scan"; }
  // exclusive = 1: exclusive scan.
  std::vector<ladder::Dim> dims() const override {
    return {{"n", std::size_t{1} << 26, (1 << 17) + 13, std::size_t{1} << 36}, {"exclusive", 0, 0, 1}};
  }
  std::vector<ladder::Buffer> buffers(const ladder::Size& size) const override {
    return {ladder::input<float>("x", size[0]), ladder::output<float>("out", size[0])};
  }
  void run(const ladder::Arrays& device, const ladder::Size& size) const override {
    launch_(device.at<const float>(0), device.at<float>(1), size[0], size[1] == 1);
  }

  // Returns the sums of elements and of magnitudes before each piece of x. Pieces keep double's own error negligible.
  std::vector<double> digest(const ladder::Arrays& host, const ladder::Size& size) const override {
    std::vector<double> before;
    Sums all;
    for (std::size_t begin = 0; begin < size[0]; begin += kPiece) {
      before.insert(before.end(), {all.sum, all.magnitude});
      Sums piece;
      for (std::size_t i = begin; i < std::min(begin + kPiece, size[0]); ++i) piece.add(host.at<const float>(0)[i]);
      all.sum += piece.sum;
      all.magnitude += piece.magnitude;
    }
    return before;
  }
  // scale = the sum of the magnitudes of the added elements.
  void expect(const ladder::Arrays& host, const ladder::Size& size, const ladder::Range& range, double* want,
              double* scale) const override {
    const bool exclusive = size[1] == 1;
    for (std::size_t piece = range.begin / kPiece; piece * kPiece < range.end; ++piece) {
      const double before = host.digest()[2 * piece], magnitude_before = host.digest()[2 * piece + 1];
      Sums sums;
      for (std::size_t i = piece * kPiece; i < std::min((piece + 1) * kPiece, range.end); ++i) {
        const Sums without = sums;
        sums.add(host.at<const float>(0)[i]);
        if (i < range.begin) continue;
        const Sums& of_i = exclusive ? without : sums;
        const double sum = before + of_i.sum;
        want[i - range.begin] = sum;
        scale[i - range.begin] = std::isfinite(sum) ? magnitude_before + of_i.magnitude : 0;
      }
    }
  }
  double tolerance(const ladder::Size& size) const override { return tree_bound(height_(size[0])); }

  // "integer" is exact: all sums are below 2^24.
  std::vector<ladder::Pattern> patterns() const override {
    return {{"random", false, ladder::patterns::random},
            {"integer", true, ladder::patterns::integers},
            {"tail", true, ladder::patterns::tail},
            {"cancelling", false, ladder::patterns::cancelling},
            {"one NaN", false, ladder::patterns::one_nan},
            {"one infinity", false, ladder::patterns::one_infinity},
            {"both infinities", false, ladder::patterns::both_infinities},
            {"0.1 everywhere", false, ladder::patterns::tenths}};
  }
  // Sizes near a warp, a block and tiles of 256, 512, 1024 and more, some exclusive, some inclusive.
  std::vector<ladder::Size> test_sizes() const override {
    return {{0, 0},    {0, 1},    {1, 0},    {1, 1},     {2, 0},     {2, 1},    {3, 0},   {4, 1},
            {5, 0},    {7, 1},    {8, 0},    {31, 1},    {32, 0},    {33, 1},   {127, 0}, {128, 1},
            {129, 0},  {255, 1},  {256, 0},  {257, 0},   {257, 1},   {511, 0},  {513, 1}, {1009, 1},
            {1023, 0}, {1025, 1}, {4093, 0}, {16387, 1}, {32771, 0}, {70001, 1}};
  }
  // None for step 01, whose single thread would take minutes.
  std::vector<ladder::Size> huge_sizes() const override {
    if (timed_ <= std::size_t{1} << 20) return {};
    return {{(std::size_t{1} << 31) + 3, 0}};
  }
  std::vector<ladder::Size> bench_sizes() const override {
    std::vector<ladder::Size> sizes;
    for (const std::size_t n : {std::size_t{1} << 20, std::size_t{1} << 24, std::size_t{1} << 28}) {
      if (n <= timed_) sizes.push_back({n, 0});
    }
    return sizes;
  }
  ladder::Size random_size(ladder::Draw& draw, double bytes) const override {
    const std::size_t exclusive = draw.coin();
    return draw_lengths(draw, bytes, {0, exclusive});
  }
  double flops(const ladder::Size& size) const override { return static_cast<double>(size[0]); }

 private:
  static constexpr std::size_t kPiece = 4096;
  struct Sums {
    double sum = 0, magnitude = 0;
    void add(double x) {
      sum += x;
      magnitude += x < 0 ? -x : x;
    }
  };

  Launch launch_;
  Height height_;
  std::size_t timed_;
};
