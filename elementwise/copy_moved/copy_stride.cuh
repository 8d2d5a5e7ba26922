// Strided reads: y[i] = x[i * stride].
// Demonstrates the cost of a stride: a copy that reads one of every `stride` floats.
// practice: easy, next block_shape
#pragma once
#include "copy_moved.cuh"

class CopyStride : public CopyMoved {
 public:
  using CopyMoved::CopyMoved;
  const char* kernel() const override { return "copy_stride"; }
  std::vector<ladder::Dim> dims() const override {
    return {{"n", std::size_t{1} << 24, (1 << 14) + 13, std::size_t{1} << 36}, {"stride", 2, 2, std::size_t{1} << 36}};
  }
  std::vector<ladder::Size> test_sizes() const override {
    std::vector<ladder::Size> sizes;
    for (const std::size_t n : {0, 1, 2, 31, 32, 33, 255, 257, 1025, 4099}) {
      for (const std::size_t stride : {0, 1, 2, 3, 8, 33}) sizes.push_back({n, stride});
    }
    return sizes;
  }
  std::vector<ladder::Size> huge_sizes() const override { return {{(std::size_t{1} << 26) + 3, 33}}; }
  std::vector<ladder::Size> bench_sizes() const override {
    std::vector<ladder::Size> sizes;
    for (const std::size_t stride : {1, 2, 3, 4, 6, 8, 16, 32}) sizes.push_back({std::size_t{1} << 24, stride});
    return sizes;
  }

 protected:
  std::size_t at(std::size_t i, std::size_t stride) const override { return i * stride; }
};
