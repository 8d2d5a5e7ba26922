// Branches in a warp: two kinds of elements.
// y[i] = 64 rounds of Marsaglia's xorshift on x[i], with shifts 13, 17, 5 for even i and 5, 9, 7 for odd i, at equal
// cost. A step decides which lanes compute which kind. Exact: bit-equal.
// practice: easy, next lanes
#pragma once
#include "../integers.cuh"

constexpr int kRounds = 64;

// Bijective, so that a misplaced element is detected.
template <int a, int b, int c>
__host__ __device__ inline unsigned shift_rounds(unsigned v) {
  for (int round = 0; round < kRounds; ++round) {
    v ^= v << a;
    v ^= v >> b;
    v ^= v << c;
  }
  return v;
}

__host__ __device__ inline unsigned even_kind(unsigned v) { return shift_rounds<13, 17, 5>(v); }
__host__ __device__ inline unsigned odd_kind(unsigned v) { return shift_rounds<5, 9, 7>(v); }

class Divergence : public Integers {
 public:
  using Integers::Integers;
  const char* kernel() const override { return "divergence"; }
  void expect(const ladder::Arrays& host, const ladder::Size&, const ladder::Range& range, double* want,
              double* scale) const override {
    for (std::size_t i = range.begin; i < range.end; ++i) {
      const auto v = static_cast<unsigned>(host.at<const int>(0)[i]);
      want[i - range.begin] = static_cast<int>(i % 2 == 0 ? even_kind(v) : odd_kind(v));
      scale[i - range.begin] = 0;
    }
  }
  // Around a pair, a warp, two warps and a block.
  std::vector<ladder::Size> test_sizes() const override {
    return {{0},  {1},  {2},  {3},  {15}, {16},  {17},  {31},  {32},  {33},   {34},
            {63}, {64}, {65}, {66}, {95}, {127}, {129}, {255}, {257}, {1025}, {4099}};
  }
  std::vector<ladder::Size> bench_sizes() const override { return {{std::size_t{1} << 24}}; }
};
