// Accurate FP32 product: C = alpha A B + beta C.
// All are row-major: A is m x k, B is k x n, C is m x n. The error must not grow with k: at most 5 roundings.
// practice: medium, next stencil1d
#pragma once
#include "../fp32_gemm.cuh"

class SgemmAccuracy : public Fp32Gemm {
 public:
  using Fp32Gemm::Fp32Gemm;

  const char* kernel() const override { return "sgemm_accuracy"; }
  // A compensated sum is the exact sum of x_l (1 + d_l), |d_l| <= 2u + O(k u^2) with a constant below 8 (Goldberg, What
  // Every Computer Scientist Should Know About Floating-Point Arithmetic, theorem 8; Higham, (4.8)). Three more
  // roundings, of a product, alpha times the sum and the addition of beta C, make 5u. In double the error is smaller.
  double tolerance(const ladder::Size& size) const override {
    constexpr double u = ladder::kUnitRoundoff;
    return (5 + 8 * static_cast<double>(size[2] + 2) * u) * u;
  }
  // The last pattern exposes a plain sum.
  std::vector<ladder::Pattern> patterns() const override {
    std::vector<ladder::Pattern> all = Fp32Gemm::patterns();
    all.push_back({"0.1 everywhere", false, ladder::patterns::tenths});
    return all;
  }

  // m, n, k, lda, ldb, ldc and the scalars: empty, around a tile of 32, gaps after the rows, long sums.
  std::vector<ladder::Size> test_sizes() const override {
    return {{{0, 5, 3, 0, 0, 0}, {1, 0}},       {{5, 0, 3, 0, 0, 0}, {1, 1}},
            {{6, 9, 0, 3, 12, 10}, {2, -0.5f}}, {{33, 40, 20, 0, 0, 44}, {0, 0.5f}},
            {{1, 1, 1, 0, 0, 0}, {1, 0}},       {{2, 3, 4, 5, 6, 7}, {2, 1}},
            {{32, 32, 32, 0, 0, 0}, {1, 0}},    {{31, 33, 65, 66, 36, 35}, {0.25f, 4}},
            {{65, 63, 17, 0, 0, 0}, {-1, 1}},   {{7, 5, 2021, 0, 0, 0}, {1, 0}}};
  }
};
