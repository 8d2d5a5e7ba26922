// Reverses tiles, staged through shared memory.
// y = x with each tile of 1024 floats reversed; the last may be shorter. Bit-equal, except for NaN payloads.
// practice: medium, next l2_window
#pragma once
#include "../elementwise.cuh"

constexpr int kTile = 1024, kBlock = 256;

// Returns the number of blocks for n > 0 floats: one per tile, at most two per SM, as in kernels whose tiles fill
// shared memory (sgemm). With eight per SM, the loads of other blocks would hide the effect.
inline std::size_t stage_blocks(std::size_t n) {
  return std::min<std::size_t>(ceil_div(n, kTile), 2 * static_cast<std::size_t>(sm_count()));
}

class Stage : public Elementwise {
 public:
  // x and y hold n floats each and do not overlap. They need not be 16-byte aligned. n = 0 does nothing.
  using Launch = void (*)(const float* x, float* y, std::size_t n);

  explicit Stage(Launch launch) : launch_(launch) {}

  const char* kernel() const override { return "stage"; }
  std::vector<ladder::Buffer> buffers(const ladder::Size& size) const override {
    return {ladder::input<float>("x", size[0]), ladder::output<float>("y", size[0])};
  }
  void run(const ladder::Arrays& device, const ladder::Size& size) const override {
    launch_(device.at<const float>(0), device.at<float>(1), size[0]);
  }
  void expect(const ladder::Arrays& host, const ladder::Size& size, const ladder::Range& range, double* want,
              double* scale) const override {
    for (std::size_t i = range.begin; i < range.end; ++i) {
      const std::size_t first = i / kTile * kTile, last = std::min(first + kTile, size[0]) - 1;
      want[i - range.begin] = host.at<const float>(0)[last - (i - first)];
      scale[i - range.begin] = 0;
    }
  }
  // Short tiles of every kind; up to four tiles per block on the 4 SMs of the CPU backend.
  std::vector<ladder::Size> test_sizes() const override {
    return {{0},   {1},   {2},    {3},    {4},    {5},    {31},   {33},   {255},  {256},          {257},
            {511}, {513}, {1022}, {1023}, {1024}, {1025}, {1027}, {2048}, {4099}, {25 * 1024 + 3}};
  }
  std::vector<ladder::Size> bench_sizes() const override { return {{std::size_t{1} << 24}, {std::size_t{1} << 28}}; }

 private:
  Launch launch_;
};
