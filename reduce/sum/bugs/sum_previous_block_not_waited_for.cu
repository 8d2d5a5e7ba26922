// bug: each block adds its predecessor's sum, which may not be stored yet
// caught by: cpu reverse | out[0] of 1 is wrong
// caught by: cpu-asan reverse | out[0] of 1 is wrong
// caught by: cpu-trace | global memory with no fence and atomic between
// caught by: gpu | out[0] of 1 is wrong
// stage: races and barriers | right
#include "../sum.cuh"
#include "block_reduce.cuh"

constexpr int kBlock = 256;

__global__ void sum_chain(const float* __restrict__ x, float* sums, float* __restrict__ out, std::size_t n) {
  const std::size_t i = static_cast<std::size_t>(blockIdx.x) * kBlock + threadIdx.x;
  float sum = block_sum_to_thread_0<kBlock>(i < n ? x[i] : 0.0f);
  if (threadIdx.x != 0) return;
  if (blockIdx.x > 0) sum += __ldcg(sums + blockIdx.x - 1);
  sums[blockIdx.x] = sum;
  if (blockIdx.x + 1 == gridDim.x) *out = sum;
}

static void launch(const float* x, float* out, std::size_t n) {
  const auto blocks = static_cast<unsigned>(std::max<std::size_t>(1, ceil_div(n, kBlock)));
  float* sums = scratch<float>(blocks);
  CUDA_CHECK(cudaMemsetAsync(sums, 0, blocks * sizeof(float)));
  sum_chain<<<blocks, kBlock>>>(x, sums, out, n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Sum, launch, [](std::size_t n) { return n; });
