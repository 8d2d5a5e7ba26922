// Step 02 spreads the working lanes over all warps. Idea: the same additions, done by neighbouring threads. Thread t
// adds the pair at 2 * stride * t, so the threads that work are 0, 1, 2, ...: whole warps work and whole warps are
// done. Divergence is gone, but now the lanes of a warp touch shared memory 2, 4, 8 ... words apart: bank conflicts,
// 2-way in the first round, 4-way in the second, 8-way in the third, then fewer because fewer than 32 lanes are left.
// Expect: the textbook says faster. Measure it: step 02's idle lanes cost nothing extra, its accesses hit 32 different
// banks, and where a conflict costs more than an idle lane, as on an H100, this step loses.
// Next question: which banks do lanes 0 to 31 hit in round 3? (Word 8 t: only four banks, 0, 8, 16 and 24.)
#include "sum.cuh"

constexpr int kBlock = 256;

__global__ void sum_interleaved_strided(const float* __restrict__ x, float* __restrict__ sums, std::size_t n) {
  __shared__ float tile[kBlock];
  const int tid = threadIdx.x;
  const std::size_t i = static_cast<std::size_t>(blockIdx.x) * kBlock + tid;
  tile[tid] = i < n ? x[i] : 0.0f;
  __syncthreads();
  for (int stride = 1; stride < kBlock; stride *= 2) {
    const int left = 2 * stride * tid;
    if (left + stride < kBlock) tile[left] += tile[left + stride];
    __syncthreads();
  }
  if (tid == 0) sums[blockIdx.x] = tile[0];
}

static void launch(const float* x, float* out, std::size_t n) {
  sum_in_passes(x, out, n, kBlock, [](const float* in, float* sums, std::size_t count, unsigned blocks) {
    sum_interleaved_strided<<<blocks, kBlock>>>(in, sums, count);
    CUDA_CHECK(cudaGetLastError());
  });
}

LADDER_STEP(Sum, launch, passes_height<kBlock>);
