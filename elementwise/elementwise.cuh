// Base class of problems with one result for each of n elements: sizes and input patterns for tests and benchmarks.
#pragma once
#include "ladder.cuh"

class Elementwise : public ladder::Problem {
 public:
  const char* family() const override { return "elementwise"; }
  std::vector<ladder::Dim> dims() const override {
    return {{"n", std::size_t{1} << 26, (1 << 17) + 13, std::size_t{1} << 36}};
  }
  double tolerance(const ladder::Size&) const override { return 0; }  // bit-equal

  std::vector<ladder::Pattern> patterns() const override {
    return {{"random", false, ladder::patterns::random}, {"special", false, ladder::patterns::special}};
  }
  std::vector<ladder::Size> test_sizes() const override { return ladder::awkward_lengths(); }
  std::vector<ladder::Size> huge_sizes() const override { return {{(std::size_t{1} << 31) + 3}}; }
  std::vector<ladder::Size> bench_sizes() const override {
    return {{std::size_t{1} << 24}, {std::size_t{1} << 26}, {std::size_t{1} << 28}, {std::size_t{1} << 30}};
  }
};
