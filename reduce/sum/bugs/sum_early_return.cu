// bug: threads past the end return before the barrier, which the whole block must reach, and store no zero
// caught by: cpu forward | some threads returned while others wait at a barrier
// caught by: gpu | out[0] of 1 is wrong
// stage: right
#include "../sum.cuh"

constexpr int kBlock = 256;

__global__ void sum_early_return(const float* __restrict__ x, float* __restrict__ partials, std::size_t n) {
  __shared__ float tile[kBlock];
  const int tid = threadIdx.x;
  const std::size_t i = std::size_t{blockIdx.x} * kBlock + tid;
  if (i >= n) return;  // guard the load, not the thread: tile[tid] = i < n ? x[i] : 0
  tile[tid] = x[i];
  __syncthreads();
  for (int stride = kBlock / 2; stride > 0; stride /= 2) {
    if (tid < stride) tile[tid] += tile[tid + stride];
    __syncthreads();
  }
  if (tid == 0) partials[blockIdx.x] = tile[0];
}

static void launch(const float* x, float* out, std::size_t n) {
  if (n == 0) {
    CUDA_CHECK(cudaMemsetAsync(out, 0, sizeof(float)));
    return;
  }
  float* partials = scratch<float>(2 * ceil_div(n, kBlock));  // for all passes
  while (n > kBlock) {
    const auto blocks = static_cast<unsigned>(ceil_div(n, kBlock));
    sum_early_return<<<blocks, kBlock>>>(x, partials, n);
    CUDA_CHECK(cudaGetLastError());
    x = partials;
    n = blocks;
    partials += blocks;
  }
  sum_early_return<<<1, kBlock>>>(x, out, n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Sum, launch, passes_height<kBlock>);
