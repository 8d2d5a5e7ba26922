// Problem:  step 02 moves 4 bytes per lane and load.
// Idea:     float4 if A and x are 16-byte aligned and lda % 4 = 0; scalars elsewhere, and for the last k % 4 elements.
// Expect:   1.0 to 1.2x step 02 on square matrices, up to 2x where few warps have long rows: four times the bytes in
//           flight per load. Slower for rows shorter than 128 floats, where lanes idle.
// Measured: 0.98x step 02, 1.25x cuBLAS at 8192x8192 (H200); 1.00x, 1.17x (H100).
// Next:     k = 32: how many of the 32 lanes load? (8, one float4 each.)
#include "block_reduce.cuh"
#include "../float4.cuh"
#include "gemv.cuh"

__global__ void gemv_float4(std::size_t m, std::size_t k, float alpha, const float* __restrict__ A, std::size_t lda,
                            const float* __restrict__ x, float beta, float* __restrict__ y, bool aligned) {
  const unsigned lane = threadIdx.x % 32;
  const std::size_t row = (std::size_t{blockIdx.x} * blockDim.x + threadIdx.x) / 32;
  if (row >= m) return;
  const float* a = A + row * lda;
  const float4* a4 = reinterpret_cast<const float4*>(a);
  const float4* x4 = reinterpret_cast<const float4*>(x);
  const std::size_t k4 = aligned ? k / 4 : 0;
  float sum = 0.0f;
  for (std::size_t j = lane; j < k4; j += 32) sum += dot4(a4[j], x4[j]);
  for (std::size_t j = 4 * k4 + lane; j < k; j += 32) sum += a[j] * x[j];
  sum = warp_sum_to_lane_0(sum);
  if (lane == 0) y[row] = beta == 0.0f ? alpha * sum : alpha * sum + beta * y[row];
}

static void launch(std::size_t m, std::size_t k, float alpha, const float* A, std::size_t lda, const float* x,
                   float beta, float* y) {
  if (m == 0) return;
  if (alpha == 0) k = 0;  // A and x are not read
  constexpr int block = 256;
  const bool aligned = aligned_for<float4>(A, x) && lda % 4 == 0;
  gemv_float4<<<static_cast<unsigned>(ceil_div(m, block / 32)), block>>>(m, k, alpha, A, lda, x, beta, y, aligned);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Gemv, launch);
