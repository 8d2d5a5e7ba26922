// The second kernel of a product whose k is split into slices: it adds the slices' sums.
#pragma once
#include "gemm.cuh"

constexpr int kAddThreads = 512;

// Computes C = alpha (sum of the slices) + beta C, blockDim.x elements per block. Rows of threads divide the slices.
template <typename T>
__global__ void __launch_bounds__(kAddThreads)
    gemm_add_slices(long long M, long long N, float alpha, float beta, T* __restrict__ C, long long ldc,
                    unsigned slices, const float* __restrict__ partials) {
  const long long e = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  float sum = 0.0f;
  if (e < M * N) {
#pragma unroll 8
    for (unsigned s = threadIdx.y; s < slices; s += blockDim.y) sum += partials[s * M * N + e];
  }
  __shared__ float sums[kAddThreads];
  sums[threadIdx.y * blockDim.x + threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y > 0 || e >= M * N) return;
  for (unsigned r = 1; r < blockDim.y; ++r) sum += sums[r * blockDim.x + threadIdx.x];
  T& c = C[e / N * ldc + e % N];
  c = T(beta == 0.0f ? alpha * sum : alpha * sum + beta * static_cast<float>(c));
}

// With few elements, 16 rows of threads divide the slices; otherwise each thread has one element.
inline dim3 add_slices_block(std::size_t elements) {
  return elements < (std::size_t{1} << 16) ? dim3(32, kAddThreads / 32) : dim3(kAddThreads);
}

template <typename T>
void launch_add_slices(std::size_t M, std::size_t N, float alpha, float beta, T* C, std::size_t ldc, std::size_t slices,
                       const float* partials) {
  const dim3 block = add_slices_block(M * N);
  gemm_add_slices<<<static_cast<unsigned>(ceil_div(M * N, block.x)), block>>>(M, N, alpha, beta, C, ldc,
                                                                              static_cast<unsigned>(slices), partials);
  CUDA_CHECK(cudaGetLastError());
}
