// Base of transpose, copy_row and copy_col: the output is a rearrangement of a matrix of rows x cols floats. Nothing is
// computed, so results are bit-equal (except NaN payloads).
#pragma once
#include "ladder.cuh"

#include <algorithm>

// Sets want[i - range.begin] to element i of the transpose of `in`, for all i in the range. Reads along rows unless the
// range has fewer than `rows` elements.
inline void transpose_on_host(const float* in, std::size_t rows, std::size_t cols, const ladder::Range& range,
                              double* want) {
  const std::size_t begin = range.begin, end = range.end;
  if (rows > end - begin) {
    for (std::size_t i = begin; i < end; ++i) want[i - begin] = in[i % rows * cols + i / rows];
    return;
  }
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t col = begin / rows; col * rows + row < end; ++col) {
      if (col * rows + row >= begin) want[col * rows + row - begin] = in[row * cols + col];
    }
  }
}

class MatrixMap : public ladder::Problem {
 public:
  // `in` is rows x cols, row-major, without gaps: in[row * cols + col]. `out` holds as many floats. They don't overlap
  // and need not be 16-byte aligned. rows = 0 or cols = 0 does nothing.
  using Launch = void (*)(const float* in, float* out, std::size_t rows, std::size_t cols);

  // tile_in_y: rows per block if gridDim.y counts blocks of rows and so limits the rows; 0 if rows are not limited.
  explicit MatrixMap(Launch launch, std::size_t tile_in_y = 0) : launch_(launch), tile_in_y_(tile_in_y) {}

  const char* family() const override { return "transpose"; }
  std::vector<ladder::Dim> dims() const override {
    return {{"rows", 8192, 300, std::size_t{1} << 31}, {"cols", 8192, 500, std::size_t{1} << 31}};
  }
  std::vector<ladder::Buffer> buffers(const ladder::Size& size) const override {
    if (tile_in_y_ > 0) ladder::require_grid_y("rows", size[0], tile_in_y_);
    return {ladder::input<float>("in", size[0] * size[1]), ladder::output<float>("out", size[0] * size[1])};
  }
  void run(const ladder::Arrays& device, const ladder::Size& size) const override {
    launch_(device.at<const float>(0), device.at<float>(1), size[0], size[1]);
  }
  double tolerance(const ladder::Size&) const override { return 0; }

  // "index" gives each of the first 2^24 elements its own value, so a misplaced element is always noticed
  std::vector<ladder::Pattern> patterns() const override {
    return {{"random", false, ladder::patterns::random},
            {"index", true, index},
            {"special", false, ladder::patterns::special}};
  }

  // empty, single rows and columns, tile sizes (32, 64, 128) and one below and above them, primes, all remainders of
  // both lengths modulo 4; test_transpose.cpp tests more rows than gridDim.y allows
  std::vector<ladder::Size> test_sizes() const override {
    return {{0, 0},     {0, 5},     {5, 0},      {1, 1},     {1, 2},     {2, 1},     {3, 3},    {1, 257},
            {257, 1},   {1, 1021},  {1021, 1},   {4, 4},     {8, 12},    {31, 33},   {33, 31},  {32, 32},
            {32, 33},   {33, 32},   {63, 65},    {64, 64},   {65, 63},   {64, 128},  {127, 66}, {68, 132},
            {129, 61},  {96, 40},   {5, 300},    {301, 6},   {101, 103}, {130, 68},  {68, 130}, {130, 191},
            {193, 129}, {256, 260}, {1031, 509}, {64, 2125}, {2125, 64}, {1031, 31}, {62, 1031}};
  }
  std::vector<ladder::Size> huge_sizes() const override {
    if (tile_in_y_ > 0) return {{ladder::kMaxGridY * tile_in_y_, 1027}};  // the largest gridDim.y
    return {{126322568, 17}};
  }
  std::vector<ladder::Size> bench_sizes() const override {
    return {{4096, 4096}, {8192, 8192}, {16384, 16384}, {8191, 8193}, {32768, 1024}, {1024, 32768}};
  }

 private:
  static double index(std::uint64_t, std::size_t, std::size_t i, std::size_t) {
    return static_cast<double>(i % (1 << 24) + 1);
  }

  Launch launch_;
  std::size_t tile_in_y_;
};
