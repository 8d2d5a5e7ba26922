// What the steps 00 that call cuBLAS share.
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

// The handle: created once, for that takes milliseconds.
inline cublasHandle_t cublas() {
  static const cublasHandle_t handle = [] {
    cublasHandle_t h = nullptr;
    CUBLAS_CHECK(cublasCreate(&h));
    return h;
  }();
  return handle;
}
