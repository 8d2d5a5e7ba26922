// Sparse matrix times vector: y = A x, A in CSR.
// A is rows x cols. Row r's nonzeros are values[e] in column columns[e], for e from offsets[r] to offsets[r + 1] - 1:
//   y[r] = sum of values[e] * x[columns[e]].
// The columns of a row are in any order, and one may appear several times: its values are added. A row without nonzeros
// gives 0. A NaN in x must not reach y[r] if row r has no nonzero in its column. Products may be added in any order.
// practice: hard, next aat
#pragma once
#include "ladder.cuh"

#include <algorithm>
#include <cmath>

class Spmv : public ladder::Problem {
 public:
  // offsets has rows + 1 elements, from 0 to nnz, and never decreases. columns and values have nnz elements, x has
  // cols, y has rows. The arrays don't overlap; pointers need only be aligned to an element. rows, cols and nnz are
  // below 2^31 and may be 0; rows + nnz and 32 * rows may be larger.
  using Launch = void (*)(const int* offsets, const int* columns, const float* values, const float* x, float* y,
                          std::size_t rows, std::size_t cols, std::size_t nnz);

  explicit Spmv(Launch launch) : launch_(launch) {}

  const char* family() const override { return "gemv"; }
  const char* kernel() const override { return "spmv"; }
  // mean: nonzeros per row. skewed = 1: row lengths follow a power law instead of being equal.
  std::vector<ladder::Dim> dims() const override {
    return {{"rows", 1 << 20, 301, kMost}, {"cols", 1 << 20, 517, kMost}, {"mean", 32, 13, kMost}, {"skewed", 0, 0, 1}};
  }
  std::vector<ladder::Buffer> buffers(const ladder::Size& size) const override {
    if (static_cast<double>(size[0]) * static_cast<double>(size[2]) > static_cast<double>(kMost)) {
      throw ladder::UsageError("--mean: rows * mean must be below 2^31");
    }
    if (size[1] == 0 && nnz(size) > 0) throw ladder::UsageError("--cols: must be above 0, or --mean=0");
    return {ladder::input<int>("offsets", size[0] + 1), ladder::input<int>("columns", nnz(size)),
            ladder::input<float>("values", nnz(size)), ladder::input<float>("x", size[1]),
            ladder::output<float>("y", size[0])};
  }
  void run(const ladder::Arrays& device, const ladder::Size& size) const override {
    launch_(device.at<const int>(0), device.at<const int>(1), device.at<const float>(2), device.at<const float>(3),
            device.at<float>(4), size[0], size[1], nnz(size));
  }

  // The error of a sum of n products is at most gamma_n sum |a| |x|, gamma_n = n u / (1 - n u), in any order, with or
  // without fma (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., (3.5), (3.11)). Where n u isn't
  // small, n u replaces gamma_n (Jeannerod and Rump, SIAM J. Matrix Anal. Appl. 34, 2013). n is the length of the row.
  // If all products are 0, +0 and -0 are both accepted.
  void expect(const ladder::Arrays& host, const ladder::Size&, const ladder::Range& range, double* want,
              double* scale) const override {
    const int *offsets = host.at<const int>(0), *columns = host.at<const int>(1);
    const float *values = host.at<const float>(2), *x = host.at<const float>(3);
    for (std::size_t r = range.begin; r < range.end; ++r) {
      double sum = 0, magnitude = 0;
      for (int e = offsets[r]; e < offsets[r + 1]; ++e) {
        const double product = static_cast<double>(values[e]) * x[columns[e]];
        sum += product;
        magnitude += std::fabs(product);
      }
      const double n = static_cast<double>(offsets[r + 1]) - offsets[r], nu = n * ladder::kUnitRoundoff;
      want[r - range.begin] = sum;
      scale[r - range.begin] = magnitude == 0 && n > 0 ? ladder::kEitherZero / ladder::kUnitRoundoff
                                                       : magnitude * (nu < 0.01 ? n / (1 - nu) : n);
    }
  }
  double tolerance(const ladder::Size&) const override { return ladder::kUnitRoundoff; }

  std::vector<ladder::Pattern> patterns() const override {
    return {{"random", false, matrix<kEqual, ladder::patterns::random>},
            {"integer", true, matrix<kAnyLength, ladder::patterns::integers>},
            {"power law", true, matrix<kPowerLaw, ladder::patterns::integers>},
            {"empty rows", true, matrix<kFewRows, ladder::patterns::integers>},
            {"one dense row", true, matrix<kDenseRow, ladder::patterns::integers>},
            {"all in one row", false, matrix<kOneRow, ladder::patterns::random>},
            {"NaN in x", false, matrix<kAnyLength, nan_in_x>},
            {"infinity in A", false, matrix<kAnyLength, infinity_in_a>}};
  }
  // A pattern's value for buffer 0 is the kind of rows.
  double element(const ladder::Size& size, const ladder::Pattern& pattern, std::uint64_t seed, std::size_t buffer,
                 std::size_t i, std::size_t n) const override {
    if (buffer == 1) return static_cast<double>(ladder::hash(seed, buffer, i) % size[1]);
    const double value = pattern.value(seed, buffer, i, n);
    if (buffer != 0) return value;
    const int kind = value == kEqual && size[3] != 0 ? kPowerLaw : static_cast<int>(value);
    return static_cast<double>(first_of_row(kind, seed, i, size[0], size[2]));
  }

  // Empty matrices; one row, one column; numbers of rows near a warp, a block and a tile; rows shorter and longer than
  // a warp and than several tiles.
  std::vector<ladder::Size> test_sizes() const override {
    std::vector<ladder::Size> sizes;
    for (const ladder::Size& size : std::initializer_list<ladder::Size>{
             {0, 0, 0, 0},      {0, 5, 3, 0},     {5, 0, 0, 0},       {7, 3, 0, 0},      {1, 1, 1, 0},
             {1, 1, 40, 0},     {1, 999, 700, 0}, {2, 3, 1, 0},       {31, 17, 3, 0},    {32, 9, 2, 0},
             {33, 40, 1, 0},    {64, 64, 32, 0},  {129, 1000, 33, 0}, {255, 64, 8, 0},   {256, 31, 5, 0},
             {257, 65, 16, 0},  {300, 1, 7, 0},   {5, 3, 1000, 0},    {2, 2, 5003, 0},   {65, 2000, 64, 0},
             {777, 333, 12, 0}, {2500, 30, 0, 0}, {2049, 100, 1, 0},  {1500, 900, 9, 1}, {100, 5000, 65, 1},
             {3, 50, 2, 1}}) {
      sizes.push_back(size);
    }
    return sizes;
  }
  // More than 2^32 threads if a row has 32 lanes; rows + nnz above 2^31.
  std::vector<ladder::Size> huge_sizes() const override {
    return {{(1 << 27) + 5, 1000003, 1, 0}, {(1 << 28) + 7, 999, 7, 0}};
  }
  std::vector<ladder::Size> bench_sizes() const override {
    return {{1 << 20, 1 << 20, 32, 0},
            {1 << 20, 1 << 20, 32, 1},
            {1 << 22, 1 << 22, 4, 0},
            {1 << 15, 1 << 20, 1024, 0},
            {1 << 20, 1 << 12, 32, 0}};
  }
  ladder::Size random_size(ladder::Draw& draw, double bytes) const override {
    return draw_lengths(draw, bytes, {0, 0, 0, draw.below(2)});
  }
  double flops(const ladder::Size& size) const override { return 2.0 * static_cast<double>(nnz(size)); }
  ladder::Ceiling ceiling() const override { return ladder::Ceiling::read; }

 private:
  static constexpr std::size_t kMost = (std::size_t{1} << 31) - 1;
  static std::size_t nnz(const ladder::Size& size) { return size[0] * size[2]; }

  enum Rows { kEqual, kAnyLength, kPowerLaw, kFewRows, kDenseRow, kOneRow };
  template <Rows kRows, double (*kNumber)(std::uint64_t, std::size_t, std::size_t, std::size_t)>
  static double matrix(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    return buffer == 0 ? static_cast<double>(kRows) : kNumber(seed, buffer, i, n);
  }
  // Returns offsets[r]: never decreasing, 0 for r = 0, rows * mean for r = rows.
  static std::size_t first_of_row(int kind, std::uint64_t seed, std::size_t r, std::size_t rows, std::size_t mean) {
    const std::size_t all = rows * mean;
    if (r == rows) return all;
    if (r == 0) return 0;
    switch (kind) {
      case kAnyLength:  // lengths from 0 to 2 * mean
        return r * mean + ladder::hash(seed, 0, r) % (mean + 1);
      case kPowerLaw: {  // of each 1024 rows the first has 0.18 of the nonzeros, each later one fewer
        const std::size_t begin = r / 1024 * 1024, count = std::min<std::size_t>(rows - begin, 1024);
        const double share = std::sqrt(std::sqrt(static_cast<double>(r - begin) / static_cast<double>(count)));
        return begin * mean + static_cast<std::size_t>(static_cast<double>(count * mean) * share);
      }
      case kFewRows:  // one row in 8 has nonzeros; the last row has the rest, if any
        return std::min(all, (r + 4) / 8 * 8 * mean);
      case kDenseRow: {  // one row has most; the others have one, or none if mean <= 1
        const std::size_t one = mean > 1;
        return r <= rows / 2 ? r * one : all - (rows - r) * one;
      }
      case kOneRow:
        return r <= rows / 2 ? 0 : all;
      default:
        return r * mean;
    }
  }
  static double nan_in_x(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    const bool here = buffer == 3 && i == n / 2;
    return here ? std::numeric_limits<double>::quiet_NaN() : ladder::patterns::random(seed, buffer, i, n);
  }
  static double infinity_in_a(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    const bool here = buffer == 2 && i == n / 2;
    return here ? std::numeric_limits<double>::infinity() : ladder::patterns::random(seed, buffer, i, n);
  }

  Launch launch_;
};
