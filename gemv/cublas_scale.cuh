// For the steps that call cuBLAS: BLAS leaves y alone if there is nothing to multiply.
#pragma once
#include "cublas_helpers.cuh"

// y = beta y; y is not read if beta = 0.
inline void cublas_scale(std::size_t n, float beta, float* y) {
  if (beta == 0) {
    CUDA_CHECK(cudaMemsetAsync(y, 0, n * sizeof(float)));
  } else {
    CUBLAS_CHECK(cublasSscal_64(cublas(), static_cast<std::int64_t>(n), &beta, y, 1));
  }
}
