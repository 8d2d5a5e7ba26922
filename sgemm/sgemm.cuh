// C = alpha A B + beta C, all row-major: A is m x k, B is k x n, C is m x n.
#pragma once
#include "sampled_rows.cuh"

#include <algorithm>
#include <cmath>

class Sgemm : public ladder::Problem {
 public:
  // Row i of A starts at A + i * lda, lda >= k; so for B, ldb >= n, and C, ldc >= n. What lies between a row's end and
  // the next row's start belongs to somebody else; behind the last row there is nothing. No pointer need be 16-byte
  // aligned, nor need a leading dimension be a multiple of 4. Nothing overlaps. m, n and k are below 2^31, and any of
  // them may be 0. As in BLAS, what is multiplied by 0 is not read: C if beta = 0, A and B if alpha = 0. Nor is NaN
  // there passed on.
  using Launch = void (*)(std::size_t m, std::size_t n, std::size_t k, float alpha, const float* A, std::size_t lda,
                          const float* B, std::size_t ldb, float beta, float* C, std::size_t ldc);

  // dim_in_y, tile: for a step with one block in gridDim.y for each `tile` rows ("m") or columns ("n") of C.
  explicit Sgemm(Launch launch, const char* dim_in_y = nullptr, std::size_t tile = 0)
      : launch_(launch), dim_in_y_(dim_in_y), tile_(tile) {}

  const char* family() const override { return "sgemm"; }
  const char* kernel() const override { return "sgemm"; }
  std::vector<ladder::Dim> dims() const override {
    constexpr std::size_t most = (std::size_t{1} << 31) - 1;
    return {{"m", 4096, 131, most}, {"n", 4096, 137, most}, {"k", 4096, 67, most},
            {"lda", 0, 0, most},    {"ldb", 0, 0, most},    {"ldc", 0, 0, most}};
  }
  std::vector<ladder::Scalar> scalars() const override { return {{"alpha", 1}, {"beta", 0}}; }

  std::vector<ladder::Buffer> buffers(const ladder::Size& size) const override {
    const std::size_t m = size[0], n = size[1], k = size[2];
    if (dim_in_y_) ladder::require_grid_y(dim_in_y_, dim_in_y_ == std::string("m") ? m : n, tile_);
    return {ladder::input<float>("A", extent("lda", m, k, lda(size))),
            ladder::input<float>("B", extent("ldb", k, n, ldb(size))),
            ladder::inout<float>("C", extent("ldc", m, n, ldc(size)))};
  }
  void run(const ladder::Arrays& device, const ladder::Size& size) const override {
    launch_(size[0], size[1], size[2], size.scalars[0], device.at<const float>(0), lda(size), device.at<const float>(1),
            ldb(size), size.scalars[1], device.at<float>(2), ldc(size));
  }

  // want = alpha (A B) + beta C, scale = |alpha| (|A| |B|) + |beta C|; what lies between the rows of C must stay as it
  // was. Of rows that are not sampled (sampled_rows.cuh) it is asked only that every element is written, and with a
  // number.
  void expect(const ladder::Arrays& host, const ladder::Size& size, const ladder::Range& range, double* want,
              double* scale) const override {
    const std::size_t n = size[1], k = size[2];
    const double alpha = size.scalars[0], beta = size.scalars[1];
    const float *A = host.at<const float>(0), *B = host.at<const float>(1), *C = host.at<const float>(2);
    for (std::size_t begin = range.begin; begin < range.end;) {
      const std::size_t row = begin / ldc(size), column = begin % ldc(size);
      const std::size_t end = std::min(range.end, (row + 1) * ldc(size));
      double *w = want + (begin - range.begin), *s = scale + (begin - range.begin);
      const std::size_t count = end - begin, inside = column < n ? std::min(count, n - column) : 0;
      const bool known = alpha == 0 || is_sampled_row(size[0], n, k, row);
      std::fill(w, w + count, 0.0);
      std::fill(s, s + count, 0.0);
      for (std::size_t l = 0; l < k && alpha != 0 && known; ++l) {
        const double a = A[row * lda(size) + l];
        const float* b = B + l * ldb(size) + column;
        for (std::size_t j = 0; j < inside; ++j) {
          w[j] += a * b[j];
          s[j] += std::fabs(a * b[j]);
        }
      }
      for (std::size_t j = 0; j < count; ++j) {
        const double c = C[begin + j];
        if (j >= inside) {
          w[j] = c;
        } else if (!known) {
          s[j] = std::numeric_limits<double>::infinity();
        } else {
          w[j] = alpha * w[j] + (beta != 0 ? beta * c : 0);
          s[j] = std::fabs(alpha) * s[j] + (beta != 0 ? std::fabs(beta * c) : 0);
          if (s[j] == 0 && alpha != 0 && k > 0) s[j] = ladder::kEitherZero;
        }
      }
      begin = end;
    }
  }

  // The computed sum of k products differs from the right one by at most gamma_k (|A| |B|), gamma_k = k u / (1 - k u),
  // in any order, with fma or without (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., (3.13)): each
  // product passes through a rounding of its own and those of at most k - 1 additions. Then it passes through two more,
  // alpha times the sum and the addition of beta C; beta C itself passes through two. By Higham's lemma 3.1 all of it
  // is at most gamma_(k + 2) (|alpha| |A| |B| + |beta C|). Where k u is no longer small, (k + 2) u holds (Jeannerod and
  // Rump, SIAM J. Matrix Anal. Appl. 34, 2013).
  double tolerance(const ladder::Size& size) const override {
    const double ku = static_cast<double>(size[2] + 2) * ladder::kUnitRoundoff;
    return ku < 0.01 ? ku / (1 - ku) : ku;
  }
  // Multiples of 1/4 keep what is exact exact. If a sum is 0, a negative alpha makes -0 of it, or 0 if 0 is added.
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

  // m, n, k, lda, ldb, ldc and the scalars. Empty, one row, one column, one product; around a warp, a tile of 32, 64
  // and 128 and a tile's depth; rows that are not 16-byte aligned; gaps behind the rows; long and thin in each of the
  // three directions; whole tiles with one leading dimension each that is no multiple of 4; for step 13 tiles that end
  // where a share ends (130 x 9 on the 4 SMs of the CPU backend), and one tile more than SMs, of 128 rows each. Kept
  // small: what is 0.1 s here is minutes for all steps, orders and kinds of data.
  std::vector<ladder::Size> test_sizes() const override {
    const std::size_t one_more_tile = 128 * static_cast<std::size_t>(sm_count()) + 1;
    return {{{0, 0, 0, 0, 0, 0}, {1, 0}},
            {{0, 5, 3, 0, 0, 0}, {1, 0}},
            {{5, 0, 3, 0, 0, 0}, {1, 1}},
            {{5, 7, 0, 0, 0, 0}, {1, 0}},
            {{6, 9, 0, 3, 12, 10}, {2, -0.5f}},
            {{33, 40, 20, 0, 0, 0}, {0, 0}},
            {{33, 40, 20, 0, 0, 44}, {0, 0.5f}},
            {{1, 1, 1, 0, 0, 0}, {1, 0}},
            {{1, 1, 301, 0, 0, 0}, {-1, 2}},
            {{1, 67, 5, 0, 0, 0}, {1.5f, 1}},
            {{71, 1, 6, 0, 0, 0}, {1, 0}},
            {{2, 3, 4, 5, 6, 7}, {2, 1}},
            {{31, 33, 32, 0, 0, 0}, {1, 0}},
            {{32, 32, 31, 32, 32, 32}, {1, -1}},
            {{33, 31, 33, 36, 36, 36}, {0.25f, 4}},
            {{64, 64, 16, 0, 0, 0}, {1, 0}},
            {{63, 65, 15, 16, 68, 68}, {1, 1}},
            {{65, 63, 17, 17, 63, 64}, {3, 0.5f}},
            {{128, 128, 32, 0, 0, 0}, {1, 0}},
            {{127, 129, 8, 0, 132, 132}, {1, 0}},
            {{129, 127, 9, 12, 128, 128}, {1, 1}},
            {{128, 256, 24, 24, 256, 260}, {2, 0}},
            {{130, 264, 20, 20, 264, 264}, {1, 1}},
            {{37, 260, 12, 0, 0, 0}, {1, 0}},
            {{257, 130, 7, 8, 132, 130}, {1, 0}},
            {{7, 5, 521, 524, 0, 0}, {1, 0}},
            {{64, 64, 260, 0, 0, 0}, {1, 1}},
            {{300, 9, 523, 0, 12, 0}, {2, 1}},
            {{270, 12, 530, 0, 0, 0}, {-0.5f, 0}},
            {{130, 9, 544, 0, 0, 0}, {1, 0}},
            {{128, 128, 16, 17, 0, 0}, {1, 0}},
            {{128, 128, 16, 0, 129, 0}, {1, 0}},
            {{128, 128, 16, 0, 0, 129}, {1, 1}},
            {{one_more_tile, 3, 180, 0, 0, 5}, {1.5f, 0.5f}},
            // For the tiles of step 14 that these would miss on the CPU backend's 4 SMs (a test sees to it).
            {{33, 257, 9, 0, 0, 0}, {1, 0}},
            {{35, 260, 9, 0, 0, 0}, {1, 1}},
            {{33, 161, 9, 0, 0, 0}, {1, 0}},
            {{37, 164, 10, 0, 0, 0}, {2, 0}},
            {{97, 129, 6, 0, 0, 0}, {1, 0}},
            {{99, 132, 7, 0, 0, 0}, {1, 0}},
            {{33, 97, 9, 0, 0, 0}, {1, 0}},
            {{35, 100, 17, 0, 0, 0}, {1, 0}},
            {{5, 193, 7, 0, 0, 0}, {1, 0}},
            {{3, 196, 9, 0, 0, 0}, {1, 0}},
            {{3, 1021, 9, 0, 0, 0}, {1, 0}},
            {{2, 1024, 11, 0, 0, 0}, {1, 0}},
            {{131, 8, 6, 0, 0, 0}, {1, 0}},
            {{9, 70, 1031, 0, 0, 0}, {0.5f, 1}},
            {{37, 3, 1025, 0, 0, 0}, {1, 1}}};
  }
  // In turn A, B and C have more than 2^31 elements; the first and the last more rows or columns than 65535 * 32.
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
  // What lies between the rows need not move, and C is read only if it counts.
  double bytes(const ladder::Size& size) const override {
    const double c = area(size[0], size[1]);
    return 4 * (area(size[0], size[2]) + area(size[2], size[1]) + (size.scalars[1] == 0 ? c : 2 * c));
  }
  // B in aligned rows
  double scratch_bytes(const ladder::Size& size) const override { return 4 * area(size[2], size[1]); }

 private:
  static std::size_t lda(const ladder::Size& size) { return size[3] ? size[3] : size[2]; }
  static std::size_t ldb(const ladder::Size& size) { return size[4] ? size[4] : size[1]; }
  static std::size_t ldc(const ladder::Size& size) { return size[5] ? size[5] : size[1]; }
  static double area(std::size_t rows, std::size_t columns) {
    return static_cast<double>(rows) * static_cast<double>(columns);
  }

  // Elements from the first to the last one of a matrix.
  static std::size_t extent(const char* option, std::size_t rows, std::size_t columns, std::size_t ld) {
    if (ld < columns) {
      throw ladder::UsageError("--" + std::string(option) + ": must be 0 or at least the row's length, " +
                               std::to_string(columns));
    }
    if (area(rows, ld) > 1e15) throw ladder::UsageError("a matrix of " + std::to_string(rows) + " rows is too large");
    return rows == 0 || columns == 0 ? 0 : (rows - 1) * ld + columns;
  }

  static double nan_in_c(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    return buffer == 2 ? std::numeric_limits<double>::quiet_NaN() : ladder::patterns::random(seed, buffer, i, n);
  }
  // One NaN, or in B an infinity, in the last row: all of a row or a column of C must show it, and nothing else.
  template <std::size_t matrix>
  static double nan_at_end(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    if (buffer != matrix || i != n - 1) return ladder::patterns::random(seed, buffer, i, n);
    return matrix == 0 ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
  }

  Launch launch_;
  const char* dim_in_y_;
  std::size_t tile_;
};

// For a step with Kahan's compensated sum, whose error does not grow with k: the sum of the x_l is the exact sum of
// x_l (1 + d_l) with |d_l| <= 2u + O(k u^2) (Goldberg, What Every Computer Scientist Should Know About Floating-Point
// Arithmetic, theorem 8; Higham, (4.8)). The product x_l = a b has a rounding of its own, and alpha times the sum and
// the addition of beta C are two more: 5u. The second-order term's constant is below 8.
class SgemmCompensated : public Sgemm {
 public:
  using Sgemm::Sgemm;
  double tolerance(const ladder::Size& size) const override {
    constexpr double u = ladder::kUnitRoundoff;
    return (5 + 8 * static_cast<double>(size[2] + 2) * u) * u;
  }
  // A plain sum shows on the last one.
  std::vector<ladder::Pattern> patterns() const override {
    std::vector<ladder::Pattern> all = Sgemm::patterns();
    all.push_back({"0.1 everywhere", false, ladder::patterns::tenths});
    return all;
  }
};
