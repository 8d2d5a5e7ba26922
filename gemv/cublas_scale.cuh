// Scaling of y for the steps that call cuBLAS: a BLAS gemv of an empty matrix returns without writing y.
#pragma once
#include "cublas_helpers.cuh"

// Computes y = beta y. Does not read y if beta = 0.
inline void cublas_scale(std::size_t n, float beta, float* y) {
  if (beta == 0) {
    CUDA_CHECK(cudaMemsetAsync(y, 0, n * sizeof(float)));
  } else {
    CUBLAS_CHECK(cublasSscal_64(cublas(), static_cast<std::int64_t>(n), &beta, y, 1));
  }
}
