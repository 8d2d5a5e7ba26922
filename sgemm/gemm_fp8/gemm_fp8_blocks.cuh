// FP8 matrix product (e4m3) with scales per 128 of k.
// A is m x k and B is n x k, both e4m3, row-major without gaps; C is m x n in FP32. With blocks = ceil(k / 128), A has
// a scale for each row and 128 k, B one for each 128 rows and 128 k (activations and weights of DeepSeek-V3):
//   C[i][j] = sum over l of A[i][l] * B[j][l] * a_scales[i * blocks + l / 128] * b_scales[j / 128 * blocks + l / 128]
// The last block may be shorter. The sum of a block may be a tensor core's; FP32 adds the blocks. Scales are
// positive.
// practice: hard, next attention
#pragma once
#include "fp8_gemm.cuh"

class GemmFp8Blocks : public Fp8Gemm {
 public:
  using Fp8Gemm::Fp8Gemm;
  const char* kernel() const override { return "gemm_fp8_blocks"; }

 protected:
  static constexpr std::size_t kBlock = 128;
  static std::size_t blocks(std::size_t length) { return ceil_div(length, kBlock); }
  std::size_t a_scales(const ladder::Size& size) const override { return size[0] * blocks(size[2]); }
  std::size_t b_scales(const ladder::Size& size) const override { return blocks(size[1]) * blocks(size[2]); }
  std::size_t block_of(const ladder::Size&) const override { return kBlock; }
  double scale_of(const ladder::Arrays& host, const ladder::Size& size, std::size_t i, std::size_t j,
                  std::size_t first) const override {
    const std::size_t row = blocks(size[2]), block = first / kBlock;
    if (row == 0) return 1;
    return static_cast<double>(host.at<const float>(2)[i * row + block]) *
           host.at<const float>(3)[j / kBlock * row + block];
  }
};
