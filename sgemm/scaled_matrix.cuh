// C = beta C, to which a product reduces if alpha or k is 0.
#pragma once
#include "cuda_helpers.cuh"

// C is m x n, with rows ldc apart. It is not read if beta = 0.
template <typename T>
__global__ static void scale_rows(unsigned long long m, unsigned long long n, float beta, T* __restrict__ C,
                                  unsigned long long ldc) {
  for (unsigned long long i = blockIdx.x * 256ull + threadIdx.x; i < m * n; i += gridDim.x * 256ull) {
    T& c = C[i / n * ldc + i % n];
    c = beta == 0 ? T(0.0f) : T(beta * static_cast<float>(c));
  }
}

template <typename T>
void scale_matrix(std::size_t m, std::size_t n, float beta, T* C, std::size_t ldc) {
  const std::size_t blocks = std::min<std::size_t>(ceil_div(m * n, std::size_t{256}), 1 << 16);
  if (blocks == 0) return;
  scale_rows<<<static_cast<unsigned>(blocks), 256>>>(m, n, beta, C, ldc);
  CUDA_CHECK(cudaGetLastError());
}
