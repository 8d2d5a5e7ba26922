// Matrix product in TF32: C = alpha A B + beta C.
// All are row-major: A is m x k, B is k x n, C is m x n. The tensor cores read FP32 as TF32.
// practice: hard, next gemm_bf16
#pragma once
#include "../fp32_gemm.cuh"
#include "../tensor_core_sizes.cuh"
#include "tensor_core_error.hpp"

class SgemmTf32 : public Fp32Gemm {
 public:
  using Fp32Gemm::Fp32Gemm;

  const char* kernel() const override { return "sgemm_tf32"; }

  // Elements become TF32, 11 significant bits: __float_to_tf32 rounds, the tensor core cuts off. Either way the error
  // is below 2^-10, so a product's is below 2^-9 + 2^-20. tensor_core_gamma(k) bounds that of the sum and of beta C.
  double tolerance(const ladder::Size& size) const override {
    constexpr double rounded_inputs = 1.0 / (1 << 9) + 1.0 / (1 << 20);
    return (1 + rounded_inputs) * (1 + tensor_core_gamma(size[2])) - 1;
  }
  void expect(const ladder::Arrays& host, const ladder::Size& size, const ladder::Range& range, double* want,
              double* scale) const override {
    const double share = tensor_core_gamma(size[2]) / tolerance(size);
    reference<float>(host, size, range, want, scale,
                     [=](double&, double product, double c) { return product + share * c; });
  }
  std::vector<ladder::Size> test_sizes() const override { return tensor_core_sizes(); }
};
