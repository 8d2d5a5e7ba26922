// The library: cublasSgemm in its default mode, FP32 throughout. BLAS stores matrices by columns; a row-major matrix
// read that way is its transpose, with the same leading dimension. (A B)^T = B^T A^T, so the call passes B first, then
// A, and n before m. Nothing is transposed, and the result that the library writes by columns is C by rows.
//
//   memory           a b c d e f         as we read it, 2 x 3,    a b c    as BLAS reads it, 3 x 2,    a d
//                                        rows 3 floats apart      d e f    columns 3 floats apart      b e
//                                                                                                      c f
// needs: gpu
// links: cublas
#include "cublas_helpers.cuh"
#include "sgemm.cuh"

static void launch(std::size_t m, std::size_t n, std::size_t k, float alpha, const float* A, std::size_t lda,
                   const float* B, std::size_t ldb, float beta, float* C, std::size_t ldc) {
  if (m == 0 || n == 0) return;
  const auto i64 = [](std::size_t v) { return static_cast<std::int64_t>(v); };
  if (k == 0 || alpha == 0) {  // C = beta C by geam, in place, so with C's own leading dimension
    const float zero = 0;
    CUBLAS_CHECK(cublasSgeam_64(cublas(), CUBLAS_OP_N, CUBLAS_OP_N, i64(n), i64(m), &beta, C, i64(ldc), &zero, C,
                                i64(ldc), C, i64(ldc)));
    return;
  }
  CUBLAS_CHECK(cublasSgemm_64(cublas(), CUBLAS_OP_N, CUBLAS_OP_N, i64(n), i64(m), i64(k), &alpha, B, i64(ldb), A,
                              i64(lda), &beta, C, i64(ldc)));
}

LADDER_STEP(Sgemm, launch);
