// out[0] = x[0] + ... + x[n-1], and 0 for n = 0. Any order of additions is right; NaN and infinities go through.
#pragma once
#include "ladder.cuh"

#include <algorithm>

class Sum : public ladder::Problem {
 public:
  // x holds n floats, out one. x need not be 16-byte aligned and must not be changed.
  using Launch = void (*)(const float* x, float* out, std::size_t n);

  // The largest number of additions that an element passes through on its way into the result: the height of the
  // step's summation tree, n - 1 if elements are added one after another.
  using Height = std::size_t (*)(std::size_t n);

  Sum(Launch launch, Height height) : launch_(launch), height_(height) {}

  const char* family() const override { return "reduce"; }
  const char* kernel() const override { return "sum"; }
  std::vector<ladder::Dim> dims() const override {
    return {{"n", std::size_t{1} << 26, (1 << 17) + 13, std::size_t{1} << 36}};
  }
  std::vector<ladder::Buffer> buffers(const ladder::Size& size) const override {
    return {ladder::input<float>("x", size[0]), ladder::output<float>("out", 1)};
  }
  void run(const ladder::Arrays& device, const ladder::Size& size) const override {
    launch_(device.at<const float>(0), device.at<float>(1), size[0]);
  }

  // want = the sum, scale = the sum of magnitudes; summed in pieces, so that double's own error stays negligible.
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

  // |error| <= gamma_h sum |x|, gamma_h = h u / (1 - h u), for a summation tree of height h (Higham, Accuracy and
  // Stability of Numerical Algorithms, 2nd ed., section 4.2). Where h u is no longer small, (n - 1) u holds for any
  // order (Rump, BIT 52, 2012), and h is n - 1 in the steps for which that happens.
  double tolerance(const ladder::Size& size) const override {
    const double hu = static_cast<double>(height_(size[0])) * ladder::kUnitRoundoff;
    return hu < 0.01 ? hu / (1 - hu) : hu;
  }

  std::vector<ladder::Pattern> patterns() const override {
    return {{"random", false, ladder::patterns::random},
            {"integer", true, ladder::patterns::integers},
            {"tail", true, ladder::patterns::tail},
            {"cancelling", false, cancelling},
            {"one NaN", false, one_nan},
            {"one infinity", false, one_infinity},
            {"both infinities", false, both_infinities}};
  }
  std::vector<ladder::Size> test_sizes() const override { return ladder::awkward_lengths(); }
  std::vector<ladder::Size> huge_sizes() const override { return {{(std::size_t{1} << 31) + 3}}; }
  std::vector<ladder::Size> bench_sizes() const override {
    return {{std::size_t{1} << 20}, {std::size_t{1} << 24}, {std::size_t{1} << 28}, {std::size_t{1} << 30}};
  }
  double flops(const ladder::Size& size) const override { return static_cast<double>(size[0]); }
  ladder::Ceiling ceiling() const override { return ladder::Ceiling::read; }

 private:
  static double cancelling(std::uint64_t, std::size_t, std::size_t i, std::size_t) {
    constexpr double values[] = {1e8, 1, -1e8, 0.5};
    return values[i % 4];
  }
  static double one_nan(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    return i == n / 2 ? std::numeric_limits<double>::quiet_NaN() : ladder::patterns::random(seed, buffer, i, n);
  }
  static double one_infinity(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    return i == n - 1 ? -std::numeric_limits<double>::infinity() : ladder::patterns::random(seed, buffer, i, n);
  }
  static double both_infinities(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    return i == 0 ? std::numeric_limits<double>::infinity() : one_infinity(seed, buffer, i, n);
  }

  Launch launch_;
  Height height_;
};

// ---- For the steps whose blocks leave one partial sum each: passes over ever shorter arrays.

// Reduces x[0..n) to *out. launch_pass(in, sums, n, blocks) must write to sums[b] the sum of the `per_block` elements
// of `in` that start at b * per_block (fewer in the last block), for all blocks b.
template <typename LaunchPass>
void sum_in_passes(const float* x, float* out, std::size_t n, std::size_t per_block, LaunchPass launch_pass) {
  if (n == 0) {
    CUDA_CHECK(cudaMemsetAsync(out, 0, sizeof(float)));
    return;
  }
  std::size_t blocks = ceil_div(n, per_block);
  float* sums = scratch<float>(2 * blocks);  // all passes: blocks (1 + 1/per_block + ...)
  while (blocks > 1) {
    launch_pass(x, sums, n, static_cast<unsigned>(blocks));
    x = sums;
    n = blocks;
    sums += blocks;
    blocks = ceil_div(n, per_block);
  }
  launch_pass(x, out, n, 1u);
}

// Height of the tree that sum_in_passes builds if a block adds its elements up in a binary tree.
template <std::size_t per_block>
std::size_t passes_height(std::size_t n) {
  std::size_t additions_per_pass = 0, passes = 1;
  for (std::size_t leaves = 1; leaves < per_block; leaves *= 2) ++additions_per_pass;
  for (; n > per_block; n = ceil_div(n, per_block)) ++passes;
  return passes * additions_per_pass;
}
