// Problem:  steps 02 to 04 give a row at most 32 lanes: 128 rows are 128 warps, on 16 SMs, whatever their length.
// Idea:     one block of 256 threads per row; one barrier, then warp 0 adds the warps' sums.
// Expect:   2 to 8x step 04 at 128x2^20, 1.0x on square matrices. At k = 32 only 8 of 256 threads have a float4.
// Measured: 9.62x step 04, 0.44x cuBLAS at 128x2^20 (H200); 9.30x, 0.55x (H100).
// Why:      more than 8x, because step 04 unrolls less than step 03: it is 5.2x step 03 (H200).
// Next:     128 rows: how many of an SM's 2048 threads have work? What if there is one row?
#include "block_reduce.cuh"
#include "../float4.cuh"
#include "gemv.cuh"

constexpr int kBlock = 256;

__global__ void gemv_block_per_row(std::size_t k, float alpha, const float* __restrict__ A, std::size_t lda,
                                   const float* __restrict__ x, float beta, float* __restrict__ y, bool aligned) {
  const std::size_t row = blockIdx.x;
  const float* a = A + row * lda;
  const float4* a4 = reinterpret_cast<const float4*>(a);
  const float4* x4 = reinterpret_cast<const float4*>(x);
  const std::size_t k4 = aligned ? k / 4 : 0;
  float sum = 0.0f;
#pragma unroll 4
  for (std::size_t j = threadIdx.x; j < k4; j += kBlock) sum += dot4(a4[j], x4[j]);
  for (std::size_t j = 4 * k4 + threadIdx.x; j < k; j += kBlock) sum += a[j] * x[j];
  sum = block_sum_to_thread_0<kBlock>(sum);
  if (threadIdx.x == 0) y[row] = beta == 0.0f ? alpha * sum : alpha * sum + beta * y[row];
}

static void launch(std::size_t m, std::size_t k, float alpha, const float* A, std::size_t lda, const float* x,
                   float beta, float* y) {
  if (m == 0) return;
  if (alpha == 0) k = 0;  // A and x are not read
  const bool aligned = aligned_for<float4>(A, x) && lda % 4 == 0;
  gemv_block_per_row<<<static_cast<unsigned>(m), kBlock>>>(k, alpha, A, lda, x, beta, y, aligned);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Gemv, launch);
