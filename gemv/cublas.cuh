// What the two steps that call cuBLAS need.
#pragma once
#include "cuda_helpers.cuh"

#include <cublas_v2.h>

#define CUBLAS_CHECK(call)                                                                            \
  do {                                                                                                \
    const cublasStatus_t cublas_check_status = (call);                                                \
    if (cublas_check_status != CUBLAS_STATUS_SUCCESS)                                                 \
      throw std::runtime_error(std::string(#call ": ") + cublasGetStatusString(cublas_check_status)); \
  } while (0)

// The handle: created once, for that takes milliseconds.
inline cublasHandle_t cublas() {
  static const cublasHandle_t handle = [] {
    cublasHandle_t h = nullptr;
    CUBLAS_CHECK(cublasCreate(&h));
    return h;
  }();
  return handle;
}

// y = beta y; y is not read if beta = 0.
inline void cublas_scale(std::size_t n, float beta, float* y) {
  if (beta == 0) {
    CUDA_CHECK(cudaMemsetAsync(y, 0, n * sizeof(float)));
  } else {
    CUBLAS_CHECK(cublasSscal_64(cublas(), static_cast<std::int64_t>(n), &beta, y, 1));
  }
}
