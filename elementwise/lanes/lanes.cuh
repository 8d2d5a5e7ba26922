// Exchanges values between the lanes of a warp.
// n integers in groups of 32; the last may be shorter. In each of 16 rounds every element becomes, mod 2^32, 5 times
// the next element of its group (the first follows the last) + 3 times its partner, the element at index ^ 1 of the
// group (itself if there is none) + the first element of its group. Exact: bit-equal.
// practice: medium, next votes
#pragma once
#include "../integers.cuh"

constexpr int kRounds = 16, kGroup = 32;

// Returns an element's value after a round.
__host__ __device__ inline unsigned mix(unsigned next, unsigned partner, unsigned first) {
  return 5 * next + 3 * partner + first;
}

class Lanes : public Integers {
 public:
  using Integers::Integers;
  const char* kernel() const override { return "lanes"; }
  void expect(const ladder::Arrays& host, const ladder::Size& size, const ladder::Range& range, double* want,
              double* scale) const override {
    const auto each_in = [&](std::size_t first, unsigned width) {
      unsigned group[kGroup], before[kGroup];
      std::copy_n(host.at<const int>(0) + first, width, group);
      for (int round = 0; round < kRounds; ++round) {
        std::copy_n(group, width, before);
        for (unsigned k = 0; k < width; ++k) {
          group[k] = mix(before[k + 1 < width ? k + 1 : 0], before[(k ^ 1) < width ? k ^ 1 : k], before[0]);
        }
      }
      for (std::size_t i = std::max(first, range.begin); i < std::min(first + width, range.end); ++i) {
        want[i - range.begin] = static_cast<int>(group[i - first]);
        scale[i - range.begin] = 0;
      }
    };
    for (std::size_t first = range.begin / kGroup * kGroup; first < range.end; first += kGroup) {
      each_in(first, static_cast<unsigned>(std::min<std::size_t>(kGroup, size[0] - first)));
    }
  }
  // Every length of the last group, in the first block and in a later one.
  std::vector<ladder::Size> test_sizes() const override {
    std::vector<ladder::Size> sizes;
    for (std::size_t n = 0; n <= 33; ++n) sizes.push_back({n});
    for (const std::size_t n : {63, 65, 255, 256, 257, 1023, 1025, 4099}) sizes.push_back({n});
    return sizes;
  }
  std::vector<ladder::Size> bench_sizes() const override { return {{std::size_t{1} << 24}}; }
};
