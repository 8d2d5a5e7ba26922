// The yardstick: cublasSgeam, out = alpha * op(A) + beta * op(B), here with alpha = 1 and beta = 0. cuBLAS counts
// column-major: it sees `in` as cols x rows with leading dimension cols, and is asked for its transpose.
// needs: gpu
// links: cublas
#include "transpose.cuh"

#include <cublas_v2.h>

static void check_cublas(cublasStatus_t status, const char* call) {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw std::runtime_error(std::string(call) + ": " + cublasGetStatusString(status));
}

static void launch(const float* in, float* out, std::size_t rows, std::size_t cols) {
  if (rows == 0 || cols == 0) return;
  static const cublasHandle_t handle = [] {
    cublasHandle_t created;
    check_cublas(cublasCreate(&created), "cublasCreate");
    return created;
  }();
  const float one = 1, zero = 0;
  const auto m = static_cast<std::int64_t>(rows), n = static_cast<std::int64_t>(cols);
  check_cublas(cublasSgeam_64(handle, CUBLAS_OP_T, CUBLAS_OP_N, m, n, &one, in, n, &zero, out, m, out, m),
               "cublasSgeam_64");
}

LADDER_STEP(Transpose, launch);
