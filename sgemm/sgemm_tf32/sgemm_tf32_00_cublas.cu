// The library: cublasGemmEx, FP32 matrices in TF32. Row-major matrices read by columns are transposed: C^T = B^T A^T,
// so B goes first and leading dimensions stay.
// needs: gpu
// links: cublas
#include "cublas_helpers.cuh"
#include "../scaled_matrix.cuh"
#include "sgemm_tf32.cuh"

static void launch(std::size_t m, std::size_t n, std::size_t k, float alpha, const float* A, std::size_t lda,
                   const float* B, std::size_t ldb, float beta, float* C, std::size_t ldc) {
  if (m == 0 || n == 0) return;
  if (k == 0 || alpha == 0) {  // with k = 0 a leading dimension would be 0, which cuBLAS refuses
    scale_matrix(m, n, beta, C, ldc);
    return;
  }
  const auto i64 = [](std::size_t v) { return static_cast<std::int64_t>(v); };
  CUBLAS_CHECK(cublasGemmEx_64(cublas(), CUBLAS_OP_N, CUBLAS_OP_N, i64(n), i64(m), i64(k), &alpha, B, CUDA_R_32F,
                               i64(ldb), A, CUDA_R_32F, i64(lda), &beta, C, CUDA_R_32F, i64(ldc),
                               CUBLAS_COMPUTE_32F_FAST_TF32, CUBLAS_GEMM_DEFAULT));
}

LADDER_STEP(SgemmTf32, launch);
