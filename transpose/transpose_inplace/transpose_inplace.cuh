// The transpose of a square matrix, in place.
// `a` is n x n floats, row-major, and is transposed without a second matrix. Results are bit-equal.
// practice: medium, next stage
#pragma once
#include "../matrix_map.cuh"

class TransposeInplace : public ladder::Problem {
 public:
  // a holds n * n floats; it need not be 16-byte aligned. n = 0 does nothing.
  using Launch = void (*)(float* a, std::size_t n);

  explicit TransposeInplace(Launch launch) : launch_(launch) {}

  const char* family() const override { return "transpose"; }
  const char* kernel() const override { return "transpose_inplace"; }
  std::vector<ladder::Dim> dims() const override { return {{"n", 8192, 300, std::size_t{1} << 31}}; }
  std::vector<ladder::Buffer> buffers(const ladder::Size& size) const override {
    return {ladder::inout<float>("a", size[0] * size[0])};
  }
  void run(const ladder::Arrays& device, const ladder::Size& size) const override {
    launch_(device.at<float>(0), size[0]);
  }
  void expect(const ladder::Arrays& host, const ladder::Size& size, const ladder::Range& range, double* want,
              double* scale) const override {
    transpose_on_host(host.at<const float>(0), size[0], size[0], range, want);
    std::fill(scale, scale + (range.end - range.begin), 0.0);
  }
  double tolerance(const ladder::Size&) const override { return 0; }

  std::vector<ladder::Pattern> patterns() const override {
    return {{"random", false, ladder::patterns::random}, {"special", false, ladder::patterns::special}};
  }
  std::vector<ladder::Size> test_sizes() const override {
    // around the tile sizes 32 and 64, all remainders modulo 8, more tiles per side than the 8 of step 03's groups
    return {{0},  {1},  {2},  {3},   {4},   {5},   {8},   {31},  {32},  {33},  {63},  {64},  {65},  {68},
            {95}, {96}, {97}, {127}, {128}, {129}, {191}, {192}, {193}, {257}, {262}, {300}, {571}, {1034}};
  }
  std::vector<ladder::Size> huge_sizes() const override { return {{46349}}; }  // n * n > 2^31
  std::vector<ladder::Size> bench_sizes() const override { return {{4096}, {8192}, {8191}, {16384}}; }

 private:
  Launch launch_;
};
