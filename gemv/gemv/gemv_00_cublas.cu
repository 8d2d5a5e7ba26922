// The library: cublasSgemv. BLAS is column-major and sees row-major A as A^T, with the same lda: hence OP_T.
// needs: gpu
// links: cublas
#include "gemv.cuh"
#include "../cublas_scale.cuh"

static void launch(std::size_t m, std::size_t k, float alpha, const float* A, std::size_t lda, const float* x,
                   float beta, float* y) {
  if (m == 0) return;
  if (k == 0 || alpha == 0) return cublas_scale(m, beta, y);
  CUBLAS_CHECK(cublasSgemv_64(cublas(), CUBLAS_OP_T, static_cast<std::int64_t>(k), static_cast<std::int64_t>(m), &alpha,
                              A, static_cast<std::int64_t>(lda), x, 1, &beta, y, 1));
}

LADDER_STEP(Gemv, launch);
