// A layer with k = 0, for which TMA has nothing to copy.
#pragma once
#include "cuda_helpers.cuh"
#include "gelu_tanh.cuh"

#include <cuda_bf16.h>

// Computes C = gelu(bias), or C += bias, in each of m rows of n elements.
template <bool kResidual>
__global__ static void rows_without_product(unsigned long long m, unsigned long long n,
                                            const __nv_bfloat16* __restrict__ bias, __nv_bfloat16* __restrict__ C) {
  for (unsigned long long i = blockIdx.x * 256ull + threadIdx.x; i < m * n; i += gridDim.x * 256ull) {
    const float b = __bfloat162float(bias[i % n]);
    C[i] = __float2bfloat16(kResidual ? b + __bfloat162float(C[i]) : gelu_tanh(b));
  }
}

template <bool kResidual>
void without_product(const __nv_bfloat16* bias, __nv_bfloat16* C, std::size_t m, std::size_t n) {
  const std::size_t blocks = std::min<std::size_t>(ceil_div(m * n, std::size_t{256}), 1 << 16);
  rows_without_product<kResidual><<<static_cast<unsigned>(blocks), 256>>>(m, n, bias, C);
  CUDA_CHECK(cudaGetLastError());
}
