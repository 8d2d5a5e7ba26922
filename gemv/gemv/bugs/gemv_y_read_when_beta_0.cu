// bug: if beta = 0, y must not be read, but 0 * y is added, so a NaN in y stays
// caught by: cpu forward | NaN in y data
// caught by: cpu-asan forward | NaN in y data
// caught by: gpu | NaN in y data
// stage: right
#include "../gemv.cuh"
#include "block_reduce.cuh"

__global__ void gemv_y_read(std::size_t m, std::size_t k, float alpha, const float* __restrict__ A, std::size_t lda,
                            const float* __restrict__ x, float beta, float* __restrict__ y) {
  const unsigned lane = threadIdx.x % 32;
  const std::size_t row = (std::size_t{blockIdx.x} * blockDim.x + threadIdx.x) / 32;
  if (row >= m) return;
  const float* a = A + row * lda;
  float sum = 0.0f;
  for (std::size_t j = lane; j < k; j += 32) sum += a[j] * x[j];
  sum = warp_sum_to_lane_0(sum);
  if (lane == 0) y[row] = alpha * sum + beta * y[row];  // should be beta == 0 ? alpha * sum : ...
}

static void launch(std::size_t m, std::size_t k, float alpha, const float* A, std::size_t lda, const float* x,
                   float beta, float* y) {
  if (m == 0) return;
  if (alpha == 0) k = 0;
  constexpr int block = 256;
  gemv_y_read<<<static_cast<unsigned>(ceil_div(m, block / 32)), block>>>(m, k, alpha, A, lda, x, beta, y);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Gemv, launch);
