// Records to arrays (AoS to SoA) through shared memory.
// `in` holds `rows` records of 32 floats: out[field * rows + row] = in[row * 32 + field], the transpose of a matrix 32
// floats wide. The steps differ in how a block's tile uses the 32 banks of shared memory. Results are bit-equal.
// practice: medium, next transpose_inplace
#pragma once
#include "../matrix_map.cuh"

constexpr int kFields = 32;

class BankConflict : public ladder::Problem {
 public:
  // in and out hold rows * 32 floats and do not overlap. rows = 0 does nothing.
  using Launch = void (*)(const float* in, float* out, std::size_t rows);

  explicit BankConflict(Launch launch) : launch_(launch) {}

  const char* family() const override { return "transpose"; }
  const char* kernel() const override { return "bank_conflict"; }
  std::vector<ladder::Dim> dims() const override { return {{"rows", 1 << 21, 1000, std::size_t{1} << 31}}; }
  std::vector<ladder::Buffer> buffers(const ladder::Size& size) const override {
    return {ladder::input<float>("in", size[0] * kFields), ladder::output<float>("out", size[0] * kFields)};
  }
  void run(const ladder::Arrays& device, const ladder::Size& size) const override {
    launch_(device.at<const float>(0), device.at<float>(1), size[0]);
  }
  void expect(const ladder::Arrays& host, const ladder::Size& size, const ladder::Range& range, double* want,
              double* scale) const override {
    transpose_on_host(host.at<const float>(0), size[0], kFields, range, want);
    std::fill(scale, scale + (range.end - range.begin), 0.0);
  }
  double tolerance(const ladder::Size&) const override { return 0; }

  std::vector<ladder::Pattern> patterns() const override {
    return {{"random", false, ladder::patterns::random}, {"special", false, ladder::patterns::special}};
  }
  std::vector<ladder::Size> test_sizes() const override {
    return {{0}, {1}, {2}, {7}, {8}, {9}, {31}, {32}, {33}, {127}, {1009}, {4096}};
  }
  std::vector<ladder::Size> huge_sizes() const override { return {{(std::size_t{1} << 26) + 3}}; }
  std::vector<ladder::Size> bench_sizes() const override { return {{1 << 21}}; }

 private:
  Launch launch_;
};
