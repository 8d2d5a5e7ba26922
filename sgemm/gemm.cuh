// The base of all products, for any element type: C = alpha A B + beta C; A is m x k, B k x n, C m x n, row-major.
#pragma once
#include "sampled_rows.cuh"

#include <algorithm>
#include <cmath>

class Gemm : public ladder::Problem {
 public:
  // dim_in_y, tile: for a step whose grid has one block in y for each `tile` rows ("m") or columns ("n") of C.
  explicit Gemm(const char* dim_in_y, std::size_t tile) : dim_in_y_(dim_in_y), tile_(tile) {}

  const char* family() const override { return "sgemm"; }
  std::vector<ladder::Dim> dims() const override {
    constexpr std::size_t most = (std::size_t{1} << 31) - 1;
    return {{"m", 4096, 131, most}, {"n", 4096, 137, most}, {"k", 4096, 67, most},
            {"lda", 0, 0, most},    {"ldb", 0, 0, most},    {"ldc", 0, 0, most}};
  }
  std::vector<ladder::Scalar> scalars() const override { return {{"alpha", 1}, {"beta", 0}}; }

  // Factors that are multiples of 1/4 keep sums exact. A negative alpha turns a sum of 0 into -0, unless 0 is added.
  bool exact(const ladder::Size& size) const override {
    const double alpha = size.scalars[0], beta = size.scalars[1];
    const auto harmless = [](double v) { return std::fabs(v) <= 16 && 4 * v == std::floor(4 * v); };
    return harmless(alpha) && harmless(beta) && (alpha >= 0 || beta != 0);
  }

  std::vector<ladder::Pattern> patterns() const override {
    return {{"random", false, ladder::patterns::random},
            {"integer", true, ladder::patterns::integers},
            {"NaN in C", false, nan_in_c},
            {"NaN at the end of A", false, nan_at_end<0>},
            {"infinity at the end of B", false, nan_at_end<1>}};
  }

  // A, B and C in turn have over 2^31 elements. `many` rows or columns are over 65535 * 32, or gridDim.y's limit.
  std::vector<ladder::Size> huge_sizes() const override {
    const std::size_t many = dim_in_y_ ? ladder::kMaxGridY * tile_ : (1 << 21) + 5;
    return {{{many, 3, 1025, 1028, 0, 0}, {1, 0}},
            {{3, 1025, (1 << 21) + 5, 0, 1028, 0}, {1, 0}},
            {{many, 1025, 2, 0, 0, 0}, {1, 0}},
            {{3, many, 2, 0, 0, 0}, {1, 1}}};
  }
  std::vector<ladder::Size> bench_sizes() const override {
    std::vector<ladder::Size> sizes;
    for (const std::size_t n : {1024, 2048, 4096, 8192, 4095, 4097}) sizes.push_back({{n, n, n, 0, 0, 0}, {1, 0}});
    return sizes;
  }

  ladder::Size random_size(ladder::Draw& draw, double bytes) const override {
    ladder::Size size = Problem::random_size(draw, bytes);
    size.dims[3] = draw.leading(size[2]);
    size.dims[4] = draw.leading(size[1]);
    size.dims[5] = draw.leading(size[1]);
    return size;
  }
  bool has_answer(const ladder::Size& size, std::size_t element) const override {
    return is_sampled_row(size[0], size[1], size[2], element / ldc(size));
  }

  double flops(const ladder::Size& size) const override { return 2.0 * area(size[0], size[1]) * size[2]; }

 protected:
  static std::size_t lda(const ladder::Size& size) { return size[3] ? size[3] : size[2]; }
  static std::size_t ldb(const ladder::Size& size) { return size[4] ? size[4] : size[1]; }
  static std::size_t ldc(const ladder::Size& size) { return size[5] ? size[5] : size[1]; }
  static double area(std::size_t rows, std::size_t columns) {
    return static_cast<double>(rows) * static_cast<double>(columns);
  }

  // Returns the number of elements from a matrix's first to its last.
  static std::size_t extent(const char* option, std::size_t rows, std::size_t columns, std::size_t ld) {
    if (ld < columns) {
      throw ladder::UsageError("--" + std::string(option) + ": must be 0 or at least the row's length, " +
                               std::to_string(columns));
    }
    if (area(rows, ld) > 1e15) throw ladder::UsageError("a matrix of " + std::to_string(rows) + " rows is too large");
    return rows == 0 || columns == 0 ? 0 : (rows - 1) * ld + columns;
  }

  template <typename T>
  std::vector<ladder::Buffer> matrices(const ladder::Size& size) const {
    const std::size_t m = size[0], n = size[1], k = size[2];
    if (dim_in_y_) ladder::require_grid_y(dim_in_y_, dim_in_y_ == std::string("m") ? m : n, tile_);
    return {ladder::input<T>("A", extent("lda", m, k, lda(size))),
            ladder::input<T>("B", extent("ldb", k, n, ldb(size))),
            ladder::inout<T>("C", extent("ldc", m, n, ldc(size)))};
  }

  // Returns the bytes that must move: no gaps between rows, and C twice only if beta is not 0.
  template <typename T>
  double matrix_bytes(const ladder::Size& size) const {
    const double c = area(size[0], size[1]);
    return sizeof(T) * (area(size[0], size[2]) + area(size[2], size[1]) + (size.scalars[1] == 0 ? c : 2 * c));
  }

  // Computes want = alpha (A B) + beta C. Gaps between rows of C must keep their values; in rows that are not sampled,
  // any finite number passes. scale_of(want, |alpha| (|A| |B|), |beta C|) returns the scale and may round `want`.
  template <typename T, typename ScaleOf>
  static void reference(const ladder::Arrays& host, const ladder::Size& size, const ladder::Range& range, double* want,
                        double* scale, const ScaleOf& scale_of) {
    const std::size_t n = size[1], k = size[2];
    const double alpha = size.scalars[0], beta = size.scalars[1];
    const T *A = host.at<const T>(0), *B = host.at<const T>(1), *C = host.at<const T>(2);
    const auto number = [](const T& value) { return static_cast<double>(static_cast<float>(value)); };
    for (std::size_t begin = range.begin; begin < range.end;) {
      const std::size_t row = begin / ldc(size), column = begin % ldc(size);
      const std::size_t end = std::min(range.end, (row + 1) * ldc(size));
      double *w = want + (begin - range.begin), *s = scale + (begin - range.begin);
      const std::size_t count = end - begin, inside = column < n ? std::min(count, n - column) : 0;
      const bool known = alpha == 0 || is_sampled_row(size[0], n, k, row);
      std::fill(w, w + count, 0.0);
      std::fill(s, s + count, 0.0);
      for (std::size_t l = 0; l < k && alpha != 0 && known; ++l) {
        const double a = number(A[row * lda(size) + l]);
        const T* b = B + l * ldb(size) + column;
        for (std::size_t j = 0; j < inside; ++j) {
          const double product = a * number(b[j]);
          w[j] += product;
          s[j] += std::fabs(product);
        }
      }
      for (std::size_t j = 0; j < count; ++j) {
        const double c = number(C[begin + j]);
        if (j >= inside) {
          w[j] = c;
        } else if (!known) {
          s[j] = std::numeric_limits<double>::infinity();
        } else {
          w[j] = alpha * w[j] + (beta != 0 ? beta * c : 0);
          s[j] = scale_of(w[j], std::fabs(alpha) * s[j], beta != 0 ? std::fabs(beta * c) : 0.0);
          if (s[j] == 0 && w[j] == 0 && alpha != 0 && k > 0) s[j] = ladder::kEitherZero;
        }
      }
      begin = end;
    }
  }

  // Returns terms u / (1 - terms u), or terms u if not small (Jeannerod and Rump, SIAM J. Matrix Anal. Appl. 34).
  static double gamma(double terms) {
    const double tu = terms * ladder::kUnitRoundoff;
    return tu < 0.01 ? tu / (1 - tu) : tu;
  }

 private:
  static double nan_in_c(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    return buffer == 2 ? std::numeric_limits<double>::quiet_NaN() : ladder::patterns::random(seed, buffer, i, n);
  }
  // A NaN at the end of A must show in one row of C, an infinity at the end of B in one column, and nowhere else.
  template <std::size_t matrix>
  static double nan_at_end(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    if (buffer != matrix || i != n - 1) return ladder::patterns::random(seed, buffer, i, n);
    return matrix == 0 ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
  }

  const char* dim_in_y_;
  std::size_t tile_;
};
