// The sum of n floats.
// out[0] = x[0] + ... + x[n-1], and 0 for n = 0. Any order of additions is right. NaN and infinities propagate.
// practice: medium, next row_softmax
#pragma once
#include "../reduction.cuh"

class Sum : public Reduction {
 public:
  // x holds n floats, out one. x need not be 16-byte aligned and must not be changed.
  using Launch = void (*)(const float* x, float* out, std::size_t n);

  // The most additions that an element passes through: the height of the step's summation tree; n - 1 for a chain.
  using Height = std::size_t (*)(std::size_t n);

  // The default height holds for any order of additions.
  explicit Sum(Launch launch, Height height = any_order) : launch_(launch), height_(height) {}

  const char* kernel() const override { return "sum"; }
  std::vector<ladder::Buffer> buffers(const ladder::Size& size) const override {
    return {ladder::input<float>("x", size[0]), ladder::output<float>("out", 1)};
  }
  void run(const ladder::Arrays& device, const ladder::Size& size) const override {
    launch_(device.at<const float>(0), device.at<float>(1), size[0]);
  }

  // want = the sum, scale = the sum of magnitudes. Summing in pieces keeps double's own error negligible.
  void expect(const ladder::Arrays& host, const ladder::Size& size, const ladder::Range&, double* want,
              double* scale) const override {
    const float* x = host.at<const float>(0);
    *want = *scale = 0;
    for (std::size_t piece = 0; piece < size[0]; piece += 4096) {
      double sum = 0, magnitude = 0;
      for (std::size_t i = piece; i < std::min<std::size_t>(piece + 4096, size[0]); ++i) {
        sum += x[i];
        magnitude += x[i] < 0 ? -x[i] : x[i];
      }
      *want += sum;
      *scale += magnitude;
    }
  }

  double tolerance(const ladder::Size& size) const override { return tree_bound(height_(size[0])); }

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
  std::vector<ladder::Size> test_sizes() const override { return ladder::awkward_lengths(); }
  double flops(const ladder::Size& size) const override { return static_cast<double>(size[0]); }

 private:
  Launch launch_;
  Height height_;
};

// Returns the height of the tree for a reduction in passes, each a binary tree over per_block elements per block.
template <std::size_t per_block>
std::size_t passes_height(std::size_t n) {
  std::size_t additions_per_pass = 0, passes = 1;
  for (std::size_t leaves = 1; leaves < per_block; leaves *= 2) ++additions_per_pass;
  for (; n > per_block; n = ceil_div(n, per_block)) ++passes;
  return passes * additions_per_pass;
}
