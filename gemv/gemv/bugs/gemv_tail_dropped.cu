// bug: k / 4 float4 of each row are added, but not the last k % 4 elements
// caught by: cpu forward | is wrong
// caught by: cpu-asan forward | is wrong
// caught by: gpu | is wrong
// stage: right
#include "../gemv.cuh"
#include "block_reduce.cuh"
#include "../../float4.cuh"

__global__ void gemv_without_tail(std::size_t m, std::size_t k, float alpha, const float* __restrict__ A,
                                  std::size_t lda, const float* __restrict__ x, float beta, float* __restrict__ y,
                                  bool aligned) {
  const unsigned lane = threadIdx.x % 32;
  const std::size_t row = (std::size_t{blockIdx.x} * blockDim.x + threadIdx.x) / 32;
  if (row >= m) return;
  const float* a = A + row * lda;
  float sum = 0.0f;
  if (aligned) {
    const float4* a4 = reinterpret_cast<const float4*>(a);
    const float4* x4 = reinterpret_cast<const float4*>(x);
    for (std::size_t j = lane; j < k / 4; j += 32) sum += dot4(a4[j], x4[j]);  // missing: elements k / 4 * 4 to k - 1
  } else {
    for (std::size_t j = lane; j < k; j += 32) sum += a[j] * x[j];
  }
  sum = warp_sum_to_lane_0(sum);
  if (lane == 0) y[row] = beta == 0.0f ? alpha * sum : alpha * sum + beta * y[row];
}

static void launch(std::size_t m, std::size_t k, float alpha, const float* A, std::size_t lda, const float* x,
                   float beta, float* y) {
  if (m == 0) return;
  if (alpha == 0) k = 0;
  constexpr int block = 256;
  const bool aligned = aligned_for<float4>(A, x) && lda % 4 == 0;
  const auto grid = static_cast<unsigned>(ceil_div(m, block / 32));
  gemv_without_tail<<<grid, block>>>(m, k, alpha, A, lda, x, beta, y, aligned);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Gemv, launch);
