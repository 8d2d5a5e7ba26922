// Problem:  in step 03 only a few lanes of each warp work.
// Idea:     the same additions by neighbouring threads: thread t adds the pair that starts at 2 * stride * t.
// Expect:   1.2 to 1.5x step 03: whole warps idle instead of lanes, but lanes that read words 2, 4, 8 apart conflict.
// Measured: 0.80x step 03, 0.17x CUB at 2^28 (H200); 0.81x, 0.24x (H100).
// Why: step 03's `if` is predicated, not a branch (SASS). There was no divergence to remove, and step 04 adds bank
// conflicts.
// Next:     which banks do lanes 0 to 31 access in round 3? (Words 8t: only banks 0, 8, 16 and 24.)
#include "sum.cuh"

constexpr int kBlock = 256;

__global__ void sum_interleaved_strided(const float* __restrict__ x, float* __restrict__ partials, std::size_t n) {
  __shared__ float tile[kBlock];
  const int tid = threadIdx.x;
  // load: one element per thread, 0 past the end
  const std::size_t i = std::size_t{blockIdx.x} * kBlock + tid;
  tile[tid] = i < n ? x[i] : 0.0f;
  __syncthreads();
  // reduce: the pairs of step 03, by threads 0, 1, 2, ...
  for (int stride = 1; stride < kBlock; stride *= 2) {
    const int left = 2 * stride * tid;
    if (left + stride < kBlock) tile[left] += tile[left + stride];
    __syncthreads();
  }
  // store
  if (tid == 0) partials[blockIdx.x] = tile[0];
}

static void launch(const float* x, float* out, std::size_t n) {
  float* partials = scratch<float>(2 * ceil_div(n, kBlock));  // for all passes
  while (n > kBlock) {
    const auto blocks = static_cast<unsigned>(ceil_div(n, kBlock));
    sum_interleaved_strided<<<blocks, kBlock>>>(x, partials, n);
    CUDA_CHECK(cudaGetLastError());
    x = partials;
    n = blocks;
    partials += blocks;
  }
  sum_interleaved_strided<<<1, kBlock>>>(x, out, n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Sum, launch, passes_height<kBlock>);
