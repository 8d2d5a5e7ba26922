// bug: blocks that share a row add their sums to y, but nothing sets y to beta y (here 0) first
// caught by: cpu forward | is wrong
// caught by: cpu-asan forward | is wrong
// caught by: gpu | is wrong
// stage: right
#include "../gemv.cuh"
#include "block_reduce.cuh"

constexpr int kBlock = 256;
constexpr std::size_t kSlice = 1024;  // floats of a row per block

__global__ void gemv_split_k_not_zeroed(std::size_t k, float alpha, const float* __restrict__ A, std::size_t lda,
                                        const float* __restrict__ x, float* __restrict__ y, unsigned slices) {
  const std::size_t row = blockIdx.x / slices, begin = blockIdx.x % slices * kSlice, end = min(begin + kSlice, k);
  float sum = 0.0f;
  for (std::size_t j = begin + threadIdx.x; j < end; j += kBlock) sum += A[row * lda + j] * x[j];
  sum = warp_sum_to_lane_0(sum);
  if (threadIdx.x % 32 == 0) atomicAdd(y + row, alpha * sum);
}

static void launch(std::size_t m, std::size_t k, float alpha, const float* A, std::size_t lda, const float* x,
                   float /*beta*/, float* y) {
  if (m == 0) return;
  if (alpha == 0) k = 0;
  // missing: if (beta == 0) cudaMemsetAsync(y, 0, m * sizeof(float)), else a kernel that computes y = beta y
  const auto slices = static_cast<unsigned>(std::max<std::size_t>(1, ceil_div(k, kSlice)));
  gemv_split_k_not_zeroed<<<static_cast<unsigned>(m * slices), kBlock>>>(k, alpha, A, lda, x, y, slices);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Gemv, launch);
