// Matrix product in FP32: C = alpha A B + beta C.
// All are row-major: A is m x k, B is k x n, C is m x n.
// practice: medium, next sgemm_accuracy
#pragma once
#include "../fp32_gemm.cuh"

class Sgemm : public Fp32Gemm {
 public:
  using Fp32Gemm::Fp32Gemm;

  const char* kernel() const override { return "sgemm"; }
  // A sum of k products, in any order, with or without fma, has an error of at most gamma_k (|A| |B|), gamma_k = k u /
  // (1 - k u): a product is rounded once and passes through k - 1 additions (Higham, Accuracy and Stability of
  // Numerical Algorithms, 2nd ed., (3.13)). Multiplying by alpha and adding beta C round twice more, and beta C itself
  // has two roundings: by lemma 3.1 at most gamma_(k + 2) (|alpha| |A| |B| + |beta C|).
  double tolerance(const ladder::Size& size) const override { return gamma(static_cast<double>(size[2] + 2)); }

  // m, n, k, lda, ldb, ldc and the scalars: empty; one row, column or product; around warps, tiles of 32, 64, 128 and
  // their depth; unaligned rows; gaps after rows; long and thin in each dimension; whole tiles with one unaligned
  // leading dimension. All are small: 0.1 s here is minutes for all steps, orders and kinds of data.
  std::vector<ladder::Size> test_sizes() const override {
    return {{{0, 0, 0, 0, 0, 0}, {1, 0}},           {{0, 5, 3, 0, 0, 0}, {1, 0}},
            {{5, 0, 3, 0, 0, 0}, {1, 1}},           {{5, 7, 0, 0, 0, 0}, {1, 0}},
            {{6, 9, 0, 3, 12, 10}, {2, -0.5f}},     {{33, 40, 20, 0, 0, 0}, {0, 0}},
            {{33, 40, 20, 0, 0, 44}, {0, 0.5f}},    {{1, 1, 1, 0, 0, 0}, {1, 0}},
            {{1, 1, 601, 0, 0, 0}, {-1, 2}},        {{1, 67, 5, 0, 0, 0}, {1.5f, 1}},
            {{71, 1, 6, 0, 0, 0}, {1, 0}},          {{2, 3, 4, 5, 6, 7}, {2, 1}},
            {{31, 33, 32, 0, 0, 0}, {1, 0}},        {{32, 32, 31, 32, 32, 32}, {1, -1}},
            {{63, 65, 15, 16, 68, 68}, {1, 1}},     {{65, 63, 17, 17, 63, 64}, {3, 0.5f}},
            {{128, 128, 16, 18, 0, 0}, {1, 0}},  // whole tiles, one matrix with unaligned rows
            {{128, 128, 16, 0, 130, 0}, {1, 0}},    {{128, 128, 16, 0, 0, 129}, {1, 1}},
            {{129, 127, 9, 12, 128, 128}, {1, 1}},  {{128, 256, 24, 24, 256, 260}, {2, 0}},
            {{130, 264, 20, 20, 264, 264}, {1, 1}}, {{257, 130, 7, 8, 132, 130}, {1, 0}},
            {{7, 5, 521, 524, 0, 0}, {1, 0}},       {{64, 64, 260, 0, 0, 0}, {1, 1}},
            {{300, 9, 263, 0, 12, 0}, {2, 1}},      {{19, 1, 530, 0, 0, 3}, {2, 1}},
            {{103, 208, 301, 0, 0, 0}, {1, 0}},     {{1, 1030, 70, 0, 1032, 0}, {1, 1}},
            {{2, 131, 301, 0, 136, 0}, {2, 0.5f}},  {{4, 36, 270, 0, 0, 0}, {1, 0.5f}},
            {{37, 301, 2, 0, 0, 0}, {1, 0}},        {{21, 130, 3, 5, 132, 136}, {2, -1}},
            {{300, 5, 8, 9, 6, 7}, {0.5f, 2}},      {{500, 1, 13, 15, 0, 0}, {1, 0}},
            {{300, 2, 20, 21, 3, 5}, {2, -1}},      {{200, 3, 130, 0, 0, 4}, {1, 1}},
            {{150, 4, 50, 0, 0, 0}, {1, 0}}};
  }
};
