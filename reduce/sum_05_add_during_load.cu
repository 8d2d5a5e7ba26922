// Step 04 idles half of its threads from the first round on. Idea: add while loading. A block takes 512 elements, each
// thread loads two and stores their sum: half as many blocks, and the first round costs no shared memory and no
// barrier.
// Expect: nearly twice as fast as long as the tree, not memory, is the limit.
// Next question: from stride 32 down only one warp works. What do the barriers still buy?
#include "sum.cuh"

constexpr int kBlock = 256;

__global__ void sum_add_during_load(const float* __restrict__ x, float* __restrict__ sums, std::size_t n) {
  __shared__ float tile[kBlock];
  const int tid = threadIdx.x;
  const std::size_t i = static_cast<std::size_t>(blockIdx.x) * (2 * kBlock) + tid;
  tile[tid] = (i < n ? x[i] : 0.0f) + (i + kBlock < n ? x[i + kBlock] : 0.0f);
  __syncthreads();
  for (int stride = kBlock / 2; stride > 0; stride /= 2) {
    if (tid < stride) tile[tid] += tile[tid + stride];
    __syncthreads();
  }
  if (tid == 0) sums[blockIdx.x] = tile[0];
}

static void launch(const float* x, float* out, std::size_t n) {
  sum_in_passes(x, out, n, 2 * kBlock, [](const float* in, float* sums, std::size_t count, unsigned blocks) {
    sum_add_during_load<<<blocks, kBlock>>>(in, sums, count);
    CUDA_CHECK(cudaGetLastError());
  });
}

LADDER_STEP(Sum, launch, passes_height<2 * kBlock>);
