// Matrix product in FP32: C = alpha A B + beta C.
// All are row-major: A is m x k, B is k x n, C is m x n.
// practice: medium, next stencil1d
#pragma once
#include "../fp32_gemm.cuh"

class Sgemm : public Fp32Gemm {
 public:
  using Fp32Gemm::Fp32Gemm;

  const char* kernel() const override { return "sgemm"; }
  void expect(const ladder::Arrays& host, const ladder::Size& size, const ladder::Range& range, double* want,
              double* scale) const override {
    reference<float>(host, size, range, want, scale, [](double&, double product, double c) { return product + c; });
  }
  // The computed sum of k products differs from the right one by at most gamma_k (|A| |B|), gamma_k = k u / (1 - k u),
  // in any order, with fma or without (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., (3.13)): each
  // product passes through a rounding of its own and those of at most k - 1 additions. Then it passes through two more,
  // alpha times the sum and the addition of beta C; beta C itself passes through two. By Higham's lemma 3.1 all of it
  // is at most gamma_(k + 2) (|alpha| |A| |B| + |beta C|).
  double tolerance(const ladder::Size& size) const override { return gamma(static_cast<double>(size[2] + 2)); }

  // m, n, k, lda, ldb, ldc and the scalars. Empty, one row, one column, one product; around a warp, a tile of 32, 64
  // and 128 and a tile's depth; rows that are not 16-byte aligned; gaps behind the rows; long and thin in each of the
  // three directions; whole tiles with one leading dimension each that is no multiple of 4; for step 13 tiles that end
  // where a share ends (130 x 9 on the 4 SMs of the CPU backend), and one tile more than SMs, of 128 rows each. Kept
  // small: what is 0.1 s here is minutes for all steps, orders and kinds of data.
  std::vector<ladder::Size> test_sizes() const override {
    const std::size_t one_more_tile = 128 * static_cast<std::size_t>(sm_count()) + 1;
    std::vector<ladder::Size> sizes = {
        {{0, 0, 0, 0, 0, 0}, {1, 0}},
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
        {{128, 128, 16, 18, 0, 0}, {1, 0}},  // full tiles, one matrix without aligned rows
        {{128, 128, 16, 0, 130, 0}, {1, 0}},
        {{128, 128, 16, 0, 0, 130}, {1, 1}},
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
        {{97, 129, 10, 0, 0, 0}, {1, 0}},
        {{99, 132, 11, 0, 0, 0}, {1, 0}},
        {{33, 97, 9, 0, 0, 0}, {1, 0}},
        {{35, 100, 17, 0, 0, 0}, {1, 0}},
        {{5, 193, 10, 0, 0, 0}, {1, 0}},
        {{7, 196, 9, 0, 0, 0}, {1, 0}},
        {{5, 1021, 9, 0, 0, 0}, {1, 0}},
        {{6, 1024, 11, 0, 0, 0}, {1, 0}},
        {{68, 33, 2300, 0, 0, 0}, {1, 1}},
        {{68, 36, 2300, 0, 0, 0}, {2, 0}},
        {{390, 131, 114, 0, 0, 0}, {1, 0}},
        {{390, 132, 120, 0, 0, 0}, {1, 0.5f}},
        {{197, 17, 9, 0, 0, 0}, {1, 0}},
        {{197, 20, 10, 0, 0, 0}, {1, 1}},
        {{65, 17, 543, 0, 0, 0}, {1, 0}},
        {{389, 20, 9, 0, 0, 0}, {1, 0}},
        {{16, 17, 40000, 0, 0, 0}, {1, 1}},  // in more slices than a block adds at a time
        {{103, 208, 827, 0, 0, 0}, {1, 0}},
        {{449, 194, 329, 0, 0, 0}, {1, 0.5f}},
        {{1, 68, 9, 0, 0, 0}, {1, 0}},
        {{1, 67, 10, 0, 0, 0}, {1.5f, 1}},
        {{1, 1030, 70, 0, 1032, 0}, {1, 1}},
        {{2, 66, 75, 77, 68, 70}, {2, 1}},
        {{2, 1027, 71, 0, 0, 0}, {-1, 0}},
        {{3, 1021, 9, 0, 0, 0}, {1, 0}},
        {{4, 36, 600, 0, 0, 0}, {1, 0.5f}},
        {{4, 1030, 70, 71, 1031, 1033}, {0.5f, 2}},
        {{131, 8, 10, 0, 0, 0}, {1, 0}},
        {{9, 70, 1031, 0, 0, 0}, {0.5f, 1}},
        {{37, 3, 1025, 0, 0, 0}, {1, 1}},
        {{2, 130, 1001, 0, 136, 0}, {1, 0.5f}},
        {{3, 131, 1001, 0, 0, 0}, {2, 0}},
        // Sums of 2 to 8 products, with more rows than threads in a column.
        {{37, 301, 2, 0, 0, 0}, {1, 0}},
        {{21, 130, 3, 5, 132, 136}, {2, -1}},
        {{300, 5, 4, 0, 0, 0}, {1, 0}},
        {{37, 301, 5, 0, 0, 0}, {1, 0}},
        {{300, 5, 8, 9, 6, 7}, {0.5f, 2}},
        {{130, 67, 7, 0, 0, 0}, {1, 0}},
        {{9, 1100, 2, 0, 0, 0}, {1, 0}},
        {{7, 1030, 4, 0, 0, 0}, {1, 1}},
        {{6, 1100, 8, 0, 0, 0}, {1, 0}}};
    for (const ladder::Size& size : few_columns_sizes()) sizes.push_back(size);
    return sizes;
  }
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
