// The library: cublasGemmEx on BF16. Sums are FP32, also across slices of k (the math mode below). Row-major matrices
// read by columns are transposed: C^T = B^T A^T, so B goes first; leading dimensions stay.
// needs: gpu
// links: cublas
#include "cublas_helpers.cuh"
#include "gemm_bf16.cuh"
#include "../scaled_matrix.cuh"

static void launch(std::size_t m, std::size_t n, std::size_t k, float alpha, const __nv_bfloat16* A, std::size_t lda,
                   const __nv_bfloat16* B, std::size_t ldb, float beta, __nv_bfloat16* C, std::size_t ldc) {
  if (m == 0 || n == 0) return;
  if (k == 0 || alpha == 0) {  // with k = 0 a leading dimension would be 0, which cuBLAS refuses
    scale_matrix(m, n, beta, C, ldc);
    return;
  }
  const auto i64 = [](std::size_t v) { return static_cast<std::int64_t>(v); };
  CUBLAS_CHECK(cublasSetMathMode(cublas(), CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION));
  CUBLAS_CHECK(cublasGemmEx_64(cublas(), CUBLAS_OP_N, CUBLAS_OP_N, i64(n), i64(m), i64(k), &alpha, B, CUDA_R_16BF,
                               i64(ldb), A, CUDA_R_16BF, i64(lda), &beta, C, CUDA_R_16BF, i64(ldc), CUBLAS_COMPUTE_32F,
                               CUBLAS_GEMM_DEFAULT));
}

LADDER_STEP(GemmBf16RoundedTwice, launch);
