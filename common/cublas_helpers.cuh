// Error checking and the handle for steps that call cuBLAS.
#pragma once
#include "cuda_helpers.cuh"

#include <cublas_v2.h>

// Throws std::runtime_error, naming the call, unless it returns CUBLAS_STATUS_SUCCESS.
#define CUBLAS_CHECK(call)                                                                            \
  do {                                                                                                \
    const cublasStatus_t cublas_check_status = (call);                                                \
    if (cublas_check_status != CUBLAS_STATUS_SUCCESS)                                                 \
      throw std::runtime_error(std::string(#call ": ") + cublasGetStatusString(cublas_check_status)); \
  } while (0)

// Returns the handle. It is created once, which takes milliseconds.
inline cublasHandle_t cublas() {
  static const cublasHandle_t handle = [] {
    cublasHandle_t h = nullptr;
    CUBLAS_CHECK(cublasCreate(&h));
    return h;
  }();
  return handle;
}
