// Counts and compares within a warp and a block.
// n integers in groups of 8, 32 and 256; the last of each may be shorter. y[i] = sum + 3 top + 5 same + 7 alike +
// 11 negatives + 13 round, mod 2^32: the sum of i's group of 32; the maximum of its group of 8; how many of the 32
// have its low three bits; whether all 32 have one sign (1 or 0); how many of its 256 are negative; whether one of
// the 256 is a multiple of 64 (1 or 0). Exact: bit-equal.
// practice: medium, next group_sums
#pragma once
#include "../integers.cuh"

constexpr int kBlock = 256, kLowBits = 7, kRound = 63;

__host__ __device__ inline int mix_votes(unsigned sum, int top, int same, bool alike, int negatives, bool round) {
  return static_cast<int>(sum + 3 * static_cast<unsigned>(top) + 5 * same + 7 * alike + 11 * negatives + 13 * round);
}

class Votes : public Integers {
 public:
  using Integers::Integers;
  const char* kernel() const override { return "votes"; }
  void expect(const ladder::Arrays& host, const ladder::Size& size, const ladder::Range& range, double* want,
              double* scale) const override {
    const int* x = host.at<const int>(0);
    const auto members = [&](std::size_t i, std::size_t width, auto use) {
      for (std::size_t k = i / width * width; k < std::min(i / width * width + width, size[0]); ++k) use(x[k]);
    };
    int negatives = 0;
    bool round = false;
    for (std::size_t i = range.begin; i < range.end; ++i) {
      if (i == range.begin || i % 256 == 0) {
        negatives = 0;
        round = false;
        members(i, 256, [&](int v) {
          negatives += v < 0;
          round |= v % 64 == 0;
        });
      }
      unsigned sum = 0;
      int top = x[i], same = 0;
      bool alike = true;
      members(i, 32, [&](int v) {
        sum += static_cast<unsigned>(v);
        same += static_cast<unsigned>(v) % 8 == static_cast<unsigned>(x[i]) % 8;
        alike &= (v < 0) == (x[i] < 0);
      });
      members(i, 8, [&](int v) { top = std::max(top, v); });
      sum += 3 * static_cast<unsigned>(top) + 5 * same + 7 * alike + 11 * negatives + 13 * round;
      want[i - range.begin] = static_cast<int>(sum);
      scale[i - range.begin] = 0;
    }
  }
  // "signs": most groups of 32 have one sign, and few groups of 256 have a multiple of 64.
  std::vector<ladder::Pattern> patterns() const override {
    std::vector<ladder::Pattern> all = Integers::patterns();
    all.push_back({"signs", true, signs});
    return all;
  }
  // Every length of the last group of 32, in the first block and in a later one; blocks that end within a warp.
  std::vector<ladder::Size> test_sizes() const override {
    std::vector<ladder::Size> sizes;
    for (std::size_t n = 0; n <= 33; ++n) sizes.push_back({n});
    for (const std::size_t n : {63, 65, 255, 256, 257, 293, 511, 1023, 1025, 4099}) sizes.push_back({n});
    return sizes;
  }
  std::vector<ladder::Size> bench_sizes() const override { return {{std::size_t{1} << 24}, {std::size_t{1} << 28}}; }

 private:
  static double signs(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t) {
    const auto v = static_cast<int>(ladder::hash(seed, buffer, i) >> 34) | 1;  // 30 bits, odd
    const bool negative = ladder::hash(seed, buffer, i / 32) % 2 == 0, even = i % 777 == 5, other = i % 300 == 7;
    return even ? 64.0 * (v >> 8) : (negative != other) ? -v : v;
  }
};
