// Passes messages between blocks: data, then a flag.
// A litmus test of memory ordering: can a reader see the flag but not the data?
// n pairs of a writer and a reader in different blocks, all in one launch. Writer i stores x[i] | 1 in data[i],
// then 1 in flags[i]; both were 0. Reader i reads flags[i] once. y[i] becomes data[i] if the flag was set, else
// x[i] | 1. So y[i] is x[i] | 1, unless the reader saw the flag but not the data. Exact: bit-equal.
// practice: medium, next lock
#pragma once
#include "../integers.cuh"

__host__ __device__ inline int message(int x) { return x | 1; }  // not 0

// data and flags have n zeros each.
struct Mailboxes {
  int *data, *flags;
};
inline Mailboxes empty_mailboxes(std::size_t n) {
  auto* const memory = scratch<int, struct LitmusMemory>(2 * n);
  CUDA_CHECK(cudaMemsetAsync(memory, 0, 2 * n * sizeof(int)));
  return {memory, memory + n};
}

class Litmus : public Integers {
 public:
  using Integers::Integers;
  const char* kernel() const override { return "litmus"; }
  void expect(const ladder::Arrays& host, const ladder::Size&, const ladder::Range& range, double* want,
              double* scale) const override {
    for (std::size_t i = range.begin; i < range.end; ++i) {
      want[i - range.begin] = host.at<const int>(0)[i] | 1;
      scale[i - range.begin] = 0;
    }
  }
  std::vector<ladder::Size> test_sizes() const override {
    return {{0}, {1}, {2}, {31}, {33}, {127}, {129}, {255}, {256}, {257}, {511}, {513}, {1025}, {4099}};
  }
  std::vector<ladder::Size> bench_sizes() const override { return {{std::size_t{1} << 20}, {std::size_t{1} << 24}}; }
  double scratch_bytes(const ladder::Size& size) const override { return 8.0 * static_cast<double>(size[0]); }
  // x is read by writers and readers, data and flags are cleared, written and read, y is written.
  double bytes(const ladder::Size& size) const override { return 36.0 * static_cast<double>(size[0]); }
};
