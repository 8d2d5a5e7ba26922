// The base class of products of FP32 matrices, on FFMA units or tensor cores: signature, buffers and reference.
#pragma once
#include "gemm.cuh"

class Fp32Gemm : public Gemm {
 public:
  // Row i of A starts at A + i * lda, lda >= k; B and C likewise, ldb >= n and ldc >= n. Gaps between rows are not part
  // of a matrix, and there is none after the last row. Pointers need not be 16-byte aligned, nor leading dimensions
  // multiples of 4. Nothing overlaps. m, n and k are below 2^31, and any may be 0. As in BLAS, C is not read if beta =
  // 0, nor A and B if alpha = 0, so a NaN in them does not show.
  using Launch = void (*)(std::size_t m, std::size_t n, std::size_t k, float alpha, const float* A, std::size_t lda,
                          const float* B, std::size_t ldb, float beta, float* C, std::size_t ldc);

  explicit Fp32Gemm(Launch launch, const char* dim_in_y = nullptr, std::size_t tile = 0)
      : Gemm(dim_in_y, tile), launch_(launch) {}

  std::vector<ladder::Buffer> buffers(const ladder::Size& size) const override { return matrices<float>(size); }
  void run(const ladder::Arrays& device, const ladder::Size& size) const override {
    launch_(size[0], size[1], size[2], size.scalars[0], device.at<const float>(0), lda(size), device.at<const float>(1),
            ldb(size), size.scalars[1], device.at<float>(2), ldc(size));
  }
  void expect(const ladder::Arrays& host, const ladder::Size& size, const ladder::Range& range, double* want,
              double* scale) const override {
    reference<float>(host, size, range, want, scale, [](double&, double product, double c) { return product + c; });
  }
  double bytes(const ladder::Size& size) const override { return matrix_bytes<float>(size); }
  // Copies of A and B with aligned rows, k padded to a whole tile.
  double scratch_bytes(const ladder::Size& size) const override {
    return 4 * (area(size[0], size[2] + 7) + area(size[2] + 7, size[1] + 3));
  }

 private:
  Launch launch_;
};
