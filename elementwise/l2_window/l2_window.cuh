// Looks up a table that should stay in L2.
// y[i] = x[i] + table[slot(i)]: n floats are streamed once, and each looks up one of m floats, far from its
// neighbour's. Does the table stay in L2 meanwhile? Each sum is rounded once: bit-equal.
// practice: medium, next streams
#pragma once
#include "../elementwise.cuh"
#ifndef CUDA_EMU
#include "set_aside.cuh"
#endif

// Returns the index that element i looks up. Neighbouring i are spread over the whole table. m must be below 2^32.
__host__ __device__ inline std::size_t slot(std::size_t i, std::size_t m) {
  return std::size_t{static_cast<std::uint32_t>(i) * 2654435761u} * m >> 32;
}

class L2Window : public Elementwise {
 public:
  // x and y hold n floats, table m, at least 1 and below 2^32; they do not overlap. n = 0 does nothing.
  using Launch = void (*)(const float* x, const float* table, float* y, std::size_t n, std::size_t m);

  explicit L2Window(Launch launch) : launch_(launch) {}

  const char* kernel() const override { return "l2_window"; }
  std::vector<ladder::Dim> dims() const override {
    return {{"n", std::size_t{1} << 26, (1 << 14) + 13, std::size_t{1} << 36},
            {"m", std::size_t{1} << 23, (1 << 10) + 5, (std::size_t{1} << 32) - 1}};
  }
  std::vector<ladder::Buffer> buffers(const ladder::Size& size) const override {
    if (size[1] == 0) throw ladder::UsageError("--m: the table has at least 1 element");
    return {ladder::input<float>("x", size[0]), ladder::input<float>("table", size[1]),
            ladder::output<float>("y", size[0])};
  }
  void run(const ladder::Arrays& device, const ladder::Size& size) const override {
    launch_(device.at<const float>(0), device.at<const float>(1), device.at<float>(2), size[0], size[1]);
  }
  // Resets lines that persist from an earlier run, and sets aside this step's part of L2.
  void prepare(const ladder::Arrays&, const ladder::Size& size) const override {
#ifndef CUDA_EMU
    CUDA_CHECK(cudaCtxResetPersistingL2Cache());
    set_aside(persisting_bytes(size));
#else
    static_cast<void>(size);
#endif
  }
  // Returns how many bytes of L2 a step sets aside for its table.
  virtual std::size_t persisting_bytes(const ladder::Size&) const { return 0; }
  void expect(const ladder::Arrays& host, const ladder::Size& size, const ladder::Range& range, double* want,
              double* scale) const override {
    const float *x = host.at<const float>(0), *table = host.at<const float>(1);
    for (std::size_t i = range.begin; i < range.end; ++i) {
      want[i - range.begin] = x[i] + table[slot(i, size[1])];
      scale[i - range.begin] = 0;
    }
  }
  std::vector<ladder::Size> test_sizes() const override {
    return {{0, 1}, {1, 1}, {1, 7}, {31, 3}, {33, 100}, {257, 1000}, {1025, 17}, {4099, 1025}};
  }
  std::vector<ladder::Size> huge_sizes() const override { return {{(std::size_t{1} << 31) + 3, 1 << 20}}; }
  // Tables of 8, 32 and 48 MB.
  std::vector<ladder::Size> bench_sizes() const override {
    const std::size_t n = std::size_t{1} << 26;
    return {{n, 2 << 20}, {n, 8 << 20}, {n, 12 << 20}};
  }
  ladder::Size random_size(ladder::Draw& draw, double bytes) const override {
    return draw_lengths(draw, bytes, {0, draw.length(12 << 20)});
  }

 private:
  Launch launch_;
};
