// Step 01 serialises n atomics. Idea: a tree in shared memory. A block loads 256 elements, adds neighbours in pairs,
// pairs of pairs, ..., and after 8 rounds thread 0 writes one partial sum; further passes reduce the partial sums the
// same way. Every addition has its fixed place: the same bits every run, and an error that grows with log2(n), not with
// n.
// What is bad here on purpose: tid % (2 * stride) keeps every second, fourth, eighth ... lane, so from round to round
// fewer lanes of each warp work, while all warps run all rounds. (The % itself is cheap: the compiler unrolls the loop
// and makes it a mask.)
// Expect: two orders of magnitude over step 01.
// Next question: what does a warp do in round 3? (4 of 32 lanes add; the others wait.)
#include "sum.cuh"

constexpr int kBlock = 256;

__global__ void sum_interleaved_divergent(const float* __restrict__ x, float* __restrict__ sums, std::size_t n) {
  __shared__ float tile[kBlock];
  const int tid = threadIdx.x;
  const std::size_t i = static_cast<std::size_t>(blockIdx.x) * kBlock + tid;
  tile[tid] = i < n ? x[i] : 0.0f;
  __syncthreads();
  for (int stride = 1; stride < kBlock; stride *= 2) {
    if (tid % (2 * stride) == 0) tile[tid] += tile[tid + stride];
    __syncthreads();  // outside the if: all threads of the block must reach it
  }
  if (tid == 0) sums[blockIdx.x] = tile[0];
}

static void launch(const float* x, float* out, std::size_t n) {
  sum_in_passes(x, out, n, kBlock, [](const float* in, float* sums, std::size_t count, unsigned blocks) {
    sum_interleaved_divergent<<<blocks, kBlock>>>(in, sums, count);
    CUDA_CHECK(cudaGetLastError());
  });
}

LADDER_STEP(Sum, launch, passes_height<kBlock>);
