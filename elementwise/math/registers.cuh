// Rotates groups of 32 integers by data.
// Group g has the elements g, g + G, g + 2 G, ... of x, G = n / 32 rounded up; those at n and beyond count as 0. It is
// rotated by s, its first element mod 32: y[g + k G] = x[g + ((k + s) mod 32) G] for all indices below n. Bit-equal.
// practice: medium, next sum_of_squares
#pragma once
#include "../integers.cuh"

constexpr int kInGroup = 32;

class Registers : public Integers {
 public:
  using Integers::Integers;
  const char* kernel() const override { return "registers"; }
  void expect(const ladder::Arrays& host, const ladder::Size& size, const ladder::Range& range, double* want,
              double* scale) const override {
    const int* x = host.at<const int>(0);
    const std::size_t n = size[0], groups = (n + kInGroup - 1) / kInGroup;
    for (std::size_t i = range.begin; i < range.end; ++i) {
      const std::size_t g = i % groups, shift = static_cast<unsigned>(x[g]) % kInGroup;
      const std::size_t from = g + (i / groups + shift) % kInGroup * groups;
      want[i - range.begin] = from < n ? x[from] : 0;
      scale[i - range.begin] = 0;
    }
  }
  // Groups that are not full, one group, several blocks of groups.
  std::vector<ladder::Size> test_sizes() const override {
    return {{0},  {1},   {2},   {31},   {32},   {33},   {63},   {64},    {65},   {95},
            {97}, {255}, {257}, {1023}, {1024}, {1025}, {4099}, {16387}, {32771}};
  }
  std::vector<ladder::Size> bench_sizes() const override { return {{std::size_t{1} << 24}, {std::size_t{1} << 26}}; }
};
