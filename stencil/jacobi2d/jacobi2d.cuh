// Time steps of Jacobi's iteration in 2D.
// `steps` time steps for Laplace's equation on rows x cols cells. In each step a cell becomes the mean of its four
// direct neighbours from the previous step. Cells at the border keep their value.
// practice: medium, next heat3d
#pragma once
#include "../time_steps.cuh"

class Jacobi2d : public TimeSteps {
 public:
  // Both arrays are rows x cols, row-major, without gaps. They don't overlap and need not be 16-byte aligned; `in`
  // isn't changed. rows = 0 or cols = 0 does nothing.
  using Launch = void (*)(const float* in, float* out, std::size_t rows, std::size_t cols, std::size_t steps);

  // dim_in_y ("rows" or "cols"), tile: for a step with one block in gridDim.y per `tile` rows or columns.
  explicit Jacobi2d(Launch launch, const char* dim_in_y = nullptr, std::size_t tile = 0)
      : launch_(launch), dim_in_y_(dim_in_y), tile_(tile) {}

  const char* kernel() const override { return "jacobi2d"; }
  // steps = 0 means 4.
  std::vector<ladder::Dim> dims() const override {
    return {
        {"rows", 8192, 200, std::size_t{1} << 31}, {"cols", 8192, 300, std::size_t{1} << 31}, {"steps", 0, 0, 1000}};
  }
  std::vector<ladder::Buffer> buffers(const ladder::Size& size) const override {
    if (dim_in_y_) ladder::require_grid_y(dim_in_y_, size[dim_in_y_ == std::string("rows") ? 0 : 1], tile_);
    return TimeSteps::buffers(size);
  }
  void run(const ladder::Arrays& device, const ladder::Size& size) const override {
    launch_(device.at<const float>(0), device.at<float>(1), size[0], size[1], steps(size));
  }

  // In one time step a value takes part in at most 3 additions (multiplying by 1/4 is exact), so in s time steps it is
  // rounded at most 3 s times. The error is at most gamma_(3 s) times the result for the magnitudes,
  // gamma_n = n u / (1 - n u) (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., lemma 3.1).
  double tolerance(const ladder::Size& size) const override {
    const double nu = 3.0 * static_cast<double>(steps(size)) * ladder::kUnitRoundoff;
    return nu / (1 - nu);
  }
  // After s time steps small integers are multiples of 4^-s, and sums of four of them are below 2^4.
  bool exact(const ladder::Size& size) const override { return steps(size) <= 10; }

  // empty, no inner cell, single rows and columns, around tile sizes (8, 32, 120, 128), all remainders modulo 4; 1 to 7
  // steps
  std::vector<ladder::Size> test_sizes() const override {
    return {{0, 0, 1},     {0, 5, 2},    {5, 0, 4},    {1, 1, 1},    {1, 2, 4},    {2, 1, 4},   {2, 2, 3},
            {3, 3, 1},     {3, 3, 4},    {1, 257, 2},  {257, 1, 2},  {2, 131, 4},  {131, 2, 4}, {3, 64, 2},
            {64, 3, 2},    {4, 4, 4},    {5, 5, 5},    {7, 9, 3},    {8, 32, 1},   {9, 33, 2},  {33, 31, 6},
            {10, 34, 1},   {17, 65, 4},  {5, 119, 4},  {6, 120, 4},  {9, 121, 4},  {8, 124, 4}, {31, 128, 4},
            {12, 129, 4},  {33, 132, 7}, {9, 240, 4},  {11, 248, 1}, {65, 250, 4}, {130, 6, 4}, {260, 12, 4},
            {101, 103, 4}, {40, 516, 2}, {9, 1028, 3}, {300, 500, 0}};
  }
  // more than 2^31 cells; one with more than 65535 * 32 rows and one thin, both left out if the step refuses them
  std::vector<ladder::Size> huge_sizes() const override {
    const ladder::Size tall = {(1 << 21) + 5, 1025, 1}, wide = {1028, (1 << 21) + 8, 2};
    const ladder::Size thin = {715827900, 3, 1};
    return dim_in_y_ ? std::vector<ladder::Size>{wide} : std::vector<ladder::Size>{tall, wide, thin};
  }
  std::vector<ladder::Size> bench_sizes() const override {
    return {{8192, 8192, 4}, {16384, 16384, 4}, {4096, 4096, 4}, {8191, 8193, 4}};
  }
  double flops(const ladder::Size& size) const override {
    return 4.0 * static_cast<double>(cells(size)) * static_cast<double>(steps(size));
  }

 protected:
  Domain domain(const ladder::Size& size) const override { return {size[1], size[0], 1, true, 0, 0.25}; }
  std::size_t steps(const ladder::Size& size) const override { return size[2] ? size[2] : 4; }

 private:
  Launch launch_;
  const char* dim_in_y_;
  std::size_t tile_;
};
