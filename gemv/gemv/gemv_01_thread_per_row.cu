// Problem:  y = alpha A x + beta y uses every element of A once: 0.5 FLOP per byte, so memory bandwidth is the limit.
// Idea:     one thread per row, straight from the definition.
// Expect:   0.02 to 0.1x cuBLAS where m is a few thousand: too few threads, and 32 sectors per request instead of 4.
// Measured: 0.086x cuBLAS at 8192x8192 (H200); 0.11x (H100).
// Next:     which threads should read neighbouring elements of A?
#include "gemv.cuh"

__global__ void gemv_thread_per_row(std::size_t m, std::size_t k, float alpha, const float* __restrict__ A,
                                    std::size_t lda, const float* __restrict__ x, float beta, float* __restrict__ y) {
  const std::size_t row = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (row >= m) return;
  const float* a = A + row * lda;  // 64 bits, since row * lda may exceed 2^32
  float sum = 0.0f;
  for (std::size_t j = 0; j < k; ++j) sum += a[j] * x[j];
  // if beta = 0, y must not be read: 0 * NaN is NaN
  y[row] = beta == 0.0f ? alpha * sum : alpha * sum + beta * y[row];
}

static void launch(std::size_t m, std::size_t k, float alpha, const float* A, std::size_t lda, const float* x,
                   float beta, float* y) {
  if (m == 0) return;
  if (alpha == 0) k = 0;  // A and x are not read
  constexpr int block = 256;
  gemv_thread_per_row<<<static_cast<unsigned>(ceil_div(m, block)), block>>>(m, k, alpha, A, lda, x, beta, y);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Gemv, launch);
