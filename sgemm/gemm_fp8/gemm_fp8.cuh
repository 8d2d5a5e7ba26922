// FP8 matrix product (e4m3) with a scale per matrix.
// A is m x k and B is n x k, one byte per element, both row-major without gaps, so k is contiguous in both, as FP8
// tensor cores require (TN). C is m x n in FP32:
//   C[i][j] = (sum over l of A[i][l] * B[j][l]) * a_scales[0] * b_scales[0]
// Scales are positive. A NaN shows in its row or column. k = 0 gives 0. A layer would round C to BF16; in FP32 the
// check sees what the tensor core's sum has lost.
// practice: hard, next gemm_fp8_blocks
#pragma once
#include "fp8_gemm.cuh"

class GemmFp8 : public Fp8Gemm {
 public:
  using Fp8Gemm::Fp8Gemm;
  const char* kernel() const override { return "gemm_fp8"; }

 protected:
  std::size_t a_scales(const ladder::Size&) const override { return 1; }
  std::size_t b_scales(const ladder::Size&) const override { return 1; }
  std::size_t block_of(const ladder::Size& size) const override { return size[2]; }
  double scale_of(const ladder::Arrays& host, const ladder::Size&, std::size_t, std::size_t,
                  std::size_t) const override {
    return static_cast<double>(host.at<const float>(2)[0]) * host.at<const float>(3)[0];
  }
};
