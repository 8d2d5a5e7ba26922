// Matrix product in BF16: C = alpha A B + beta C.
// All are row-major: A is m x k, B is k x n, C is m x n. Sums are FP32.
// practice: hard, next linear
#pragma once
#include "../tensor_core_sizes.cuh"
#include "tensor_core_error.hpp"

#include <cuda_bf16.h>

class GemmBf16 : public Gemm {
 public:
  // A, B and C are BF16. C is rounded once, to nearest, ties to even. Row i of A starts at A + i * lda, lda >= k; B and
  // C likewise, ldb >= n and ldc >= n. Gaps between rows are not part of a matrix, and there is none after the last
  // row. Pointers need only 2-byte alignment. Nothing overlaps. m, n and k are below 2^31, and any may be 0. As in
  // BLAS, C is not read if beta = 0, nor A and B if alpha = 0, so a NaN in them does not show.
  using Launch = void (*)(std::size_t m, std::size_t n, std::size_t k, float alpha, const __nv_bfloat16* A,
                          std::size_t lda, const __nv_bfloat16* B, std::size_t ldb, float beta, __nv_bfloat16* C,
                          std::size_t ldc);

  // dim_in_y, tile: for a step whose grid has one block in y for each `tile` rows ("m") or columns ("n") of C.
  explicit GemmBf16(Launch launch, const char* dim_in_y = nullptr, std::size_t tile = 0)
      : Gemm(dim_in_y, tile), launch_(launch) {}

  const char* kernel() const override { return "gemm_bf16"; }
  std::vector<ladder::Buffer> buffers(const ladder::Size& size) const override { return matrices<__nv_bfloat16>(size); }
  void run(const ladder::Arrays& device, const ladder::Size& size) const override {
    launch_(size[0], size[1], size[2], size.scalars[0], device.at<const __nv_bfloat16>(0), lda(size),
            device.at<const __nv_bfloat16>(1), ldb(size), size.scalars[1], device.at<__nv_bfloat16>(2), ldc(size));
  }

  // The FP32 result is within E = tensor_core_gamma(k) (|alpha| |A| |B| + |beta C|) of the exact x. Rounding is
  // monotonic, so C is between BF16(x - E) and BF16(x + E): the scale is the larger distance of these two from BF16(x).
  void expect(const ladder::Arrays& host, const ladder::Size& size, const ladder::Range& range, double* want,
              double* scale) const override {
    const double gamma = tensor_core_gamma(size[2]) + rounded_before();
    reference<__nv_bfloat16>(host, size, range, want, scale, [=](double& x, double product, double c) {
      const double exact = x, error = gamma * (product + c);
      x = to_bf16(exact);
      if (!std::isfinite(exact) || !std::isfinite(error)) return std::numeric_limits<double>::infinity();
      return std::max(to_bf16(exact + error) - x, x - to_bf16(exact - error));
    });
  }
  double tolerance(const ladder::Size&) const override { return 1; }
  std::vector<ladder::Size> test_sizes() const override { return tensor_core_sizes(); }

  double bytes(const ladder::Size& size) const override { return matrix_bytes<__nv_bfloat16>(size); }
  // Copies of A and B with aligned rows.
  double scratch_bytes(const ladder::Size& size) const override {
    return 2 * (area(size[0], size[2] + 7) + area(size[2], size[1] + 7));
  }

 private:
  // Returns the error before the last rounding, besides the sum's, as a share of |alpha| |A| |B| + |beta C|.
  virtual double rounded_before() const { return 0; }
  static double to_bf16(double value) { return static_cast<float>(__double2bfloat16(value)); }

  Launch launch_;
};

// For cuBLAS: some of its kernels round alpha A B, or parts of it, to BF16 before the last addition, an error of 2^-8.
// At 129 x 136 x 264 with beta = 1, an eighth of the results were off by one BF16 number (one run, cuBLAS 13.0).
class GemmBf16RoundedTwice : public GemmBf16 {
 public:
  using GemmBf16::GemmBf16;
  bool exact(const ladder::Size&) const override { return false; }

 private:
  double rounded_before() const override { return 1.0 / (1 << 8); }
};
