// Sums and maxima of groups of 4, 8, 32, 256.
// n integers, taken as unsigned. y[i] = s4 + 3 m8 + 5 t32 + 7 s256, mod 2^32: s4 and s256 are the sums mod 2^32 of i's
// group of 4 and of 256, m8 the maximum of its group of 8, t32 the sum of the low halves of its group of 32, saturated
// at 2^20 - 1. Groups begin at multiples of their size; the last may be shorter. Exact: bit-equal.
// practice: medium, next group_places
#pragma once
#include "../integers.cuh"

constexpr int kBlock = 256;

// Returns a + b, or 2^20 - 1 if that is less. It is associative, so a reduction may use any order.
__host__ __device__ inline unsigned saturating_sum(unsigned a, unsigned b) {
  constexpr unsigned most = (1u << 20) - 1;
  return a + b < most ? a + b : most;
}
__host__ __device__ inline unsigned low_half(unsigned v) { return v & 0xffff; }
__host__ __device__ inline int mix(unsigned four, unsigned greatest, unsigned low, unsigned all) {
  return static_cast<int>(four + 3 * greatest + 5 * low + 7 * all);
}

class GroupSums : public Integers {
 public:
  using Integers::Integers;
  const char* kernel() const override { return "group_sums"; }
  void expect(const ladder::Arrays& host, const ladder::Size& size, const ladder::Range& range, double* want,
              double* scale) const override {
    const int* x = host.at<const int>(0);
    const auto over = [&](std::size_t i, std::size_t width, auto op) {
      unsigned result = 0;  // the identity of all three operations
      const std::size_t first = i / width * width, end = std::min(first + width, size[0]);
      for (std::size_t k = first; k < end; ++k) result = op(result, static_cast<unsigned>(x[k]));
      return result;
    };
    const auto plus = [](unsigned a, unsigned b) { return a + b; };
    const auto greater = [](unsigned a, unsigned b) { return std::max(a, b); };
    const auto low = [](unsigned a, unsigned b) { return std::min(a + b % 65536, 1048575u); };
    unsigned all = 0;
    for (std::size_t i = range.begin; i < range.end; ++i) {
      if (i == range.begin || i % 256 == 0) all = over(i, 256, plus);
      const unsigned sum = over(i, 4, plus) + 3 * over(i, 8, greater) + 5 * over(i, 32, low) + 7 * all;
      want[i - range.begin] = static_cast<int>(sum);
      scale[i - range.begin] = 0;
    }
  }
  // Every length of the last group of 32, in the first block and in a later one; blocks that end within a warp.
  std::vector<ladder::Size> test_sizes() const override {
    std::vector<ladder::Size> sizes;
    for (std::size_t n = 0; n <= 33; ++n) sizes.push_back({n});
    for (const std::size_t n : {63, 65, 127, 129, 255, 256, 257, 293, 511, 1023, 1025, 4099}) sizes.push_back({n});
    return sizes;
  }
  std::vector<ladder::Size> bench_sizes() const override { return {{std::size_t{1} << 24}, {std::size_t{1} << 28}}; }
};
