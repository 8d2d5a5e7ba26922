// cublasSgeam: out = alpha op(A) + beta op(B), with alpha = 1 and beta = 0. cuBLAS is column-major: to it `in` is
// cols x rows with leading dimension cols.
// needs: gpu
// links: cublas
#include "transpose.cuh"
#include "cublas_helpers.cuh"

static void launch(const float* in, float* out, std::size_t rows, std::size_t cols) {
  if (rows == 0 || cols == 0) return;
  const float one = 1, zero = 0;
  const auto m = static_cast<std::int64_t>(rows), n = static_cast<std::int64_t>(cols);
  CUBLAS_CHECK(cublasSgeam_64(cublas(), CUBLAS_OP_T, CUBLAS_OP_N, m, n, &one, in, n, &zero, out, m, out, m));
}

LADDER_STEP(Transpose, launch);
