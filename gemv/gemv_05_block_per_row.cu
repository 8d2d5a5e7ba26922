// Steps 02 to 04 never give a row to more than 32 lanes: 128 rows are 128 warps, one per SM, whatever their length.
// Idea: a block per row. 256 threads share it, the warps' sums meet in shared memory, and one barrier later warp 0 adds
// them up (block_sum_once). A block also reads 4 KB of one row side by side, where 8 warps read 512 bytes of 8 rows.
// Expect: better for long rows (k in the thousands), a multiple where m is a few hundred; far worse for short ones,
// where most of the 256 threads find nothing to load.
// Next question: 128 rows: how many of the SMs' 2048 threads have work? What if there is one row?
#include "block_reduce.cuh"
#include "gemv.cuh"

constexpr int kBlock = 256;

__device__ static float dot4(float4 a, float4 x) { return (a.x * x.x + a.y * x.y) + (a.z * x.z + a.w * x.w); }

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
  sum = block_sum_once<kBlock>(sum);
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
