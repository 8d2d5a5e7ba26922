// bug: float4 loads for every row, with no test that A and x are 16-byte aligned and lda is a multiple of 4
// caught by: cpu forward | misaligned address
// caught by: cpu-asan forward | misaligned address
// caught by: gpu | misaligned address
// stage: memory
#include "../gemv.cuh"
#include "block_reduce.cuh"
#include "../../float4.cuh"

__global__ void gemv_unaligned(std::size_t m, std::size_t k, float alpha, const float* __restrict__ A, std::size_t lda,
                               const float* __restrict__ x, float beta, float* __restrict__ y) {
  const unsigned lane = threadIdx.x % 32;
  const std::size_t row = (std::size_t{blockIdx.x} * blockDim.x + threadIdx.x) / 32;
  if (row >= m) return;
  const float* a = A + row * lda;
  const float4* a4 = reinterpret_cast<const float4*>(a);  // needs a test for alignment
  const float4* x4 = reinterpret_cast<const float4*>(x);
  float sum = 0.0f;
  for (std::size_t j = lane; j < k / 4; j += 32) sum += dot4(a4[j], x4[j]);
  for (std::size_t j = k / 4 * 4 + lane; j < k; j += 32) sum += a[j] * x[j];
  sum = warp_sum_to_lane_0(sum);
  if (lane == 0) y[row] = beta == 0.0f ? alpha * sum : alpha * sum + beta * y[row];
}

static void launch(std::size_t m, std::size_t k, float alpha, const float* A, std::size_t lda, const float* x,
                   float beta, float* y) {
  if (m == 0) return;
  if (alpha == 0) k = 0;
  constexpr int block = 256;
  gemv_unaligned<<<static_cast<unsigned>(ceil_div(m, block / 32)), block>>>(m, k, alpha, A, lda, x, beta, y);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Gemv, launch);
