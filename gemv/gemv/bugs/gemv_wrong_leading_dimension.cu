// bug: row i is read at A + i * k, though it starts at A + i * lda; right only if lda = k
// caught by: cpu forward | is wrong
// caught by: cpu-asan forward | is wrong
// caught by: gpu | is wrong
// stage: right
#include "../gemv.cuh"
#include "block_reduce.cuh"

__global__ void gemv_wrong_lda(std::size_t m, std::size_t k, float alpha, const float* __restrict__ A,
                               std::size_t /*lda*/, const float* __restrict__ x, float beta, float* __restrict__ y) {
  const unsigned lane = threadIdx.x % 32;
  const std::size_t row = (std::size_t{blockIdx.x} * blockDim.x + threadIdx.x) / 32;
  if (row >= m) return;
  const float* a = A + row * k;  // should be row * lda
  float sum = 0.0f;
  for (std::size_t j = lane; j < k; j += 32) sum += a[j] * x[j];
  sum = warp_sum_to_lane_0(sum);
  if (lane == 0) y[row] = beta == 0.0f ? alpha * sum : alpha * sum + beta * y[row];
}

static void launch(std::size_t m, std::size_t k, float alpha, const float* A, std::size_t lda, const float* x,
                   float beta, float* y) {
  if (m == 0) return;
  if (alpha == 0) k = 0;
  constexpr int block = 256;
  gemv_wrong_lda<<<static_cast<unsigned>(ceil_div(m, block / 32)), block>>>(m, k, alpha, A, lda, x, beta, y);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Gemv, launch);
