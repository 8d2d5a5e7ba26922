#include <cuda_runtime.h>

// Say: every element of A is used once, so memory bandwidth is the limit. With a thread per row a warp would read 32
// rows at a time; with a warp per row it reads 32 neighbouring floats. Next: float4 (step 03), short rows (step 04),
// few long rows (step 05).
__global__ void gemv(size_t m, size_t k, float alpha, const float* __restrict__ A, size_t lda,
                     const float* __restrict__ x, float beta, float* __restrict__ y) {
  const int lane = threadIdx.x % 32;
  const size_t row = (size_t{blockIdx.x} * blockDim.x + threadIdx.x) / 32;
  if (row >= m) return;  // the whole warp returns, and no barrier follows
  float sum = 0.0f;
  for (size_t j = lane; j < k; j += 32) sum += A[row * lda + j] * x[j];
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(0xffffffff, sum, offset);
  // Say: as in BLAS, y isn't read if beta is 0, nor A and x if alpha is 0: a NaN there must not reach the result.
  if (lane == 0) y[row] = alpha * sum + (beta == 0.0f ? 0.0f : beta * y[row]);
}

cudaError_t launch(size_t m, size_t k, float alpha, const float* A, size_t lda, const float* x, float beta, float* y) {
  if (m == 0) return cudaSuccess;  // a grid of 0 blocks is an error
  const unsigned block = 256, rows_per_block = block / 32, grid = (m + rows_per_block - 1) / rows_per_block;
  gemv<<<grid, block>>>(m, alpha == 0.0f ? 0 : k, alpha, A, lda, x, beta, y);
  return cudaGetLastError();
}

// The answer ends here; the rest is for the checks.
#include "gemv.cuh"
#include "whiteboard.cuh"
LADDER_STEP(Gemv, checked<launch>);
