// Misaligned reads: y[i] = x[i + offset].
// Demonstrates the cost of misalignment: a copy whose reads start at any float.
// practice: easy, next copy_stride
#pragma once
#include "copy_moved.cuh"

class CopyOffset : public CopyMoved {
 public:
  using CopyMoved::CopyMoved;
  const char* kernel() const override { return "copy_offset"; }
  std::vector<ladder::Dim> dims() const override {
    return {{"n", std::size_t{1} << 26, (1 << 15) + 13, std::size_t{1} << 36}, {"offset", 1, 1, std::size_t{1} << 36}};
  }
  std::vector<ladder::Size> test_sizes() const override {
    std::vector<ladder::Size> sizes;
    for (const std::size_t n : {0, 1, 2, 31, 32, 33, 255, 257, 1025, 4099}) {
      for (const std::size_t offset : {0, 1, 3, 8, 33}) sizes.push_back({n, offset});
    }
    return sizes;
  }
  std::vector<ladder::Size> huge_sizes() const override { return {{(std::size_t{1} << 31) + 3, 1}}; }
  std::vector<ladder::Size> bench_sizes() const override {
    std::vector<ladder::Size> sizes;
    for (const std::size_t offset : {0, 1, 2, 4, 7, 8, 16, 31, 32}) sizes.push_back({std::size_t{1} << 26, offset});
    return sizes;
  }

 protected:
  std::size_t at(std::size_t i, std::size_t offset) const override { return i + offset; }
};
