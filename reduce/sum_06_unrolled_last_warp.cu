// Step 05 still stops the whole block after each of the last five rounds, though only one warp works in them. Idea:
// leave the loop at 32 and let warp 0 finish alone, unrolled, with __syncwarp() instead of __syncthreads(). A warp is
// not in lockstep since Volta: lanes may run apart, and volatile orders nothing between them. So each round reads,
// waits until all lanes have read, writes, and waits until all have written.
// Expect: a little; fewer barriers and no loop at the end.
// Next question: why the __syncwarp() between the read and the write? (In the round with stride 8, lane 8 writes
// tile[8] while lane 0 wants the old value; without it lane 0 may add some elements twice.)
#include "sum.cuh"

constexpr int kBlock = 256;

// tile[0] = tile[0] + ... + tile[63]; called by the 32 lanes of one warp. Upper lanes add values that nobody uses.
__device__ static void sum_last_warp(float* tile, int lane) {
  float sum = tile[lane];
#pragma unroll
  for (int stride = 32; stride > 0; stride /= 2) {
    sum += tile[lane + stride];
    __syncwarp();
    tile[lane] = sum;
    __syncwarp();
  }
}

__global__ void sum_unrolled_last_warp(const float* __restrict__ x, float* __restrict__ sums, std::size_t n) {
  __shared__ float tile[kBlock];
  const int tid = threadIdx.x;
  const std::size_t i = static_cast<std::size_t>(blockIdx.x) * (2 * kBlock) + tid;
  tile[tid] = (i < n ? x[i] : 0.0f) + (i + kBlock < n ? x[i + kBlock] : 0.0f);
  __syncthreads();
  for (int stride = kBlock / 2; stride > 32; stride /= 2) {
    if (tid < stride) tile[tid] += tile[tid + stride];
    __syncthreads();
  }
  if (tid < 32) sum_last_warp(tile, tid);
  if (tid == 0) sums[blockIdx.x] = tile[0];
}

static void launch(const float* x, float* out, std::size_t n) {
  sum_in_passes(x, out, n, 2 * kBlock, [](const float* in, float* sums, std::size_t count, unsigned blocks) {
    sum_unrolled_last_warp<<<blocks, kBlock>>>(in, sums, count);
    CUDA_CHECK(cudaGetLastError());
  });
}

LADDER_STEP(Sum, launch, passes_height<2 * kBlock>);
