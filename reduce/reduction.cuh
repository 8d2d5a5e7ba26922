// Base of the reductions of n elements to one result: sizes, error bounds and data patterns.
#pragma once
#include "ladder.cuh"

#include <algorithm>

class Reduction : public ladder::Problem {
 public:
  const char* family() const override { return "reduce"; }
  std::vector<ladder::Dim> dims() const override {
    return {{"n", std::size_t{1} << 26, (1 << 17) + 13, std::size_t{1} << 36}};
  }
  // Fewer than ladder::awkward_lengths(): around a warp, a block, a tile of 16384, and several tiles.
  std::vector<ladder::Size> test_sizes() const override {
    std::vector<ladder::Size> sizes;
    for (const std::size_t n :
         {0, 1, 2, 3, 4, 5, 6, 7, 8, 31, 32, 33, 127, 129, 255, 257, 1009, 1023, 1025, 4093, 16387, 70001}) {
      sizes.push_back({n});
    }
    return sizes;
  }
  std::vector<ladder::Size> huge_sizes() const override { return {{(std::size_t{1} << 31) + 3}}; }
  std::vector<ladder::Size> bench_sizes() const override {
    return {{std::size_t{1} << 20}, {std::size_t{1} << 24}, {std::size_t{1} << 28}, {std::size_t{1} << 30}};
  }
  ladder::Ceiling ceiling() const override { return ladder::Ceiling::read; }
};

// A summation tree of height h has an error of at most gamma_h sum |x|, gamma_h = h u / (1 - h u) (Higham, Accuracy and
// Stability of Numerical Algorithms, 2nd ed., section 4.2). Where h u is no longer small, h is n - 1, and the bound (n
// - 1) u holds for any order (Rump, BIT 52, 2012).
inline double tree_bound(std::size_t height) {
  const double hu = static_cast<double>(height) * ladder::kUnitRoundoff;
  return hu < 0.01 ? hu / (1 - hu) : hu;
}

// Returns the height of a summation tree of n elements in any order: each passes through at most n - 1 additions.
inline std::size_t any_order(std::size_t n) { return n > 0 ? n - 1 : 0; }

namespace ladder::patterns {

// A sum of these in float loses the terms that are small beside 1e8; in double it does not.
inline double cancelling(std::uint64_t, std::size_t, std::size_t i, std::size_t) {
  constexpr double terms[] = {1e8, 1, -1e8, 0.5};
  return terms[i % 4];
}
inline double one_nan(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
  return i == n / 2 ? std::numeric_limits<double>::quiet_NaN() : random(seed, buffer, i, n);
}
inline double one_negative_nan(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
  return i == n / 2 ? -std::numeric_limits<double>::quiet_NaN() : random(seed, buffer, i, n);
}
inline double one_infinity(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
  return i == n - 1 ? -std::numeric_limits<double>::infinity() : random(seed, buffer, i, n);
}
inline double both_infinities(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
  return i == 0 ? std::numeric_limits<double>::infinity() : one_infinity(seed, buffer, i, n);
}

// All negative, down to -2: a maximum that starts at 0 is wrong.
inline double negative(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
  return (random(seed, buffer, i, n) - 1.001) * 0.999;
}
inline double all_minus_infinity(std::uint64_t, std::size_t, std::size_t, std::size_t) {
  return -std::numeric_limits<double>::infinity();
}
// All -0, except for one +0.
inline double zeros(std::uint64_t seed, std::size_t, std::size_t i, std::size_t n) {
  return n > 1 && i == hash(seed, 99, n) % n ? 0.0 : -0.0;
}
// All +0, except for the first element.
inline double zeros_after_one(std::uint64_t, std::size_t, std::size_t i, std::size_t) { return i == 0 ? 1.0 : 0.0; }
// The last element is the greatest.
inline double greatest_last(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
  return i + 1 == n ? 2.0 : random(seed, buffer, i, n);
}

}  // namespace ladder::patterns
