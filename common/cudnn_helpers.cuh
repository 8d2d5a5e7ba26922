// Error checking and the handle for steps that call cuDNN.
#pragma once
#include "cuda_helpers.cuh"

#include <cudnn.h>

// Throws std::runtime_error, naming the call, unless it returns CUDNN_STATUS_SUCCESS.
#define CUDNN_CHECK(call)                                                                          \
  do {                                                                                             \
    const cudnnStatus_t cudnn_check_status = (call);                                               \
    if (cudnn_check_status != CUDNN_STATUS_SUCCESS)                                                \
      throw std::runtime_error(std::string(#call ": ") + cudnnGetErrorString(cudnn_check_status)); \
  } while (0)

// Returns the handle. It is created once, which takes milliseconds.
inline cudnnHandle_t cudnn() {
  static const cudnnHandle_t handle = [] {
    cudnnHandle_t h = nullptr;
    CUDNN_CHECK(cudnnCreate(&h));
    return h;
  }();
  return handle;
}
