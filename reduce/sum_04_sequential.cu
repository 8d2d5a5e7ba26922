// Step 03 has bank conflicts. Idea: sequential addressing. Thread t adds element t + stride to element t, the stride
// halving from 128 to 1: the lanes of a warp touch 32 neighbouring words, one in each bank.
// Expect: the shared-memory part gets cheaper; half of the threads still never add anything.
// Next question: 128 of 256 threads only load one element. What could they do?
#include "sum.cuh"

constexpr int kBlock = 256;

__global__ void sum_sequential(const float* __restrict__ x, float* __restrict__ sums, std::size_t n) {
  __shared__ float tile[kBlock];
  const int tid = threadIdx.x;
  const std::size_t i = static_cast<std::size_t>(blockIdx.x) * kBlock + tid;
  tile[tid] = i < n ? x[i] : 0.0f;
  __syncthreads();
  for (int stride = kBlock / 2; stride > 0; stride /= 2) {
    if (tid < stride) tile[tid] += tile[tid + stride];
    __syncthreads();
  }
  if (tid == 0) sums[blockIdx.x] = tile[0];
}

static void launch(const float* x, float* out, std::size_t n) {
  sum_in_passes(x, out, n, kBlock, [](const float* in, float* sums, std::size_t count, unsigned blocks) {
    sum_sequential<<<blocks, kBlock>>>(in, sums, count);
    CUDA_CHECK(cudaGetLastError());
  });
}

LADDER_STEP(Sum, launch, passes_height<kBlock>);
