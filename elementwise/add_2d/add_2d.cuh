// Adds two matrices: c = a + b.
// The matrices have rows x cols floats, row-major. Each sum is rounded once, so it is bit-equal to the host's.
// practice: easy, next add_half2
#pragma once
#include "../elementwise.cuh"

class Add2d : public ladder::Problem {
 public:
  // Element (row, col) is at row * cols + col. a, b and c do not overlap. rows and cols are below 2^31, and may be 0.
  using Launch = void (*)(const float* a, const float* b, float* c, std::size_t rows, std::size_t cols);

  // dim_in_y, tile: for a step whose gridDim.y has one block per `tile` "rows" or "cols" (dim_in_y).
  explicit Add2d(Launch launch, const char* dim_in_y = nullptr, std::size_t tile = 0)
      : launch_(launch), dim_in_y_(dim_in_y), tile_(tile) {}

  const char* family() const override { return "elementwise"; }
  const char* kernel() const override { return "add_2d"; }
  std::vector<ladder::Dim> dims() const override {
    return {{"rows", 8192, 301, (std::size_t{1} << 31) - 1}, {"cols", 8192, 437, (std::size_t{1} << 31) - 1}};
  }
  std::vector<ladder::Buffer> buffers(const ladder::Size& size) const override {
    if (dim_in_y_) ladder::require_grid_y(dim_in_y_, size[dim_in_y_ == std::string("rows") ? 0 : 1], tile_);
    const std::size_t n = size[0] * size[1];
    return {ladder::input<float>("a", n), ladder::input<float>("b", n), ladder::output<float>("c", n)};
  }
  void run(const ladder::Arrays& device, const ladder::Size& size) const override {
    launch_(device.at<const float>(0), device.at<const float>(1), device.at<float>(2), size[0], size[1]);
  }
  void expect(const ladder::Arrays& host, const ladder::Size&, const ladder::Range& range, double* want,
              double* scale) const override {
    const float *a = host.at<const float>(0), *b = host.at<const float>(1);
    for (std::size_t i = range.begin; i < range.end; ++i) {
      want[i - range.begin] = a[i] + b[i];
      scale[i - range.begin] = 0;
    }
  }
  double tolerance(const ladder::Size&) const override { return 0; }  // bit-equal

  std::vector<ladder::Pattern> patterns() const override {
    return {{"random", false, ladder::patterns::random}, {"special", false, ladder::patterns::special}};
  }
  // Empty, single rows and columns, around a block of 32 x 8; more than 65535 * 8 rows if the step supports them.
  std::vector<ladder::Size> test_sizes() const override {
    std::vector<ladder::Size> sizes = {{0, 0},  {0, 5},     {5, 0},    {1, 1},     {1, 1025}, {1025, 1},
                                       {2, 3},  {7, 31},    {8, 32},   {9, 33},    {31, 7},   {33, 9},
                                       {64, 8}, {127, 129}, {257, 63}, {300, 401}, {3, 70001}};
    if (!dim_in_y_) sizes.push_back({65536 * 8 + 3, 1});
    return sizes;
  }
  std::vector<ladder::Size> huge_sizes() const override {
    if (dim_in_y_) return {{46349, 46349}};
    return {{(1 << 21) + 5, 1027}};
  }
  std::vector<ladder::Size> bench_sizes() const override { return {{8192, 8192}, {16384, 16384}, {1 << 20, 256}}; }
  double flops(const ladder::Size& size) const override {
    return static_cast<double>(size[0]) * static_cast<double>(size[1]);
  }

 private:
  Launch launch_;
  const char* dim_in_y_;
  std::size_t tile_;
};
