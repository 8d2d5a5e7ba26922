// bug: the last warp trusts volatile and lockstep; since Volta lanes may run apart, and nothing orders their accesses
// caught by: cpu forward | out[0] of 1 is wrong
// caught by: gpu racecheck | hazard | --n=1025
#include "../sum.cuh"

constexpr int kBlock = 256;

__global__ void sum_missing_syncwarp(const float* __restrict__ x, float* __restrict__ sums, std::size_t n) {
  __shared__ float tile[kBlock];
  const int tid = threadIdx.x;
  const std::size_t i = static_cast<std::size_t>(blockIdx.x) * kBlock + tid;
  tile[tid] = i < n ? x[i] : 0.0f;
  __syncthreads();
  for (int stride = kBlock / 2; stride > 32; stride /= 2) {
    if (tid < stride) tile[tid] += tile[tid + stride];
    __syncthreads();
  }
  if (tid < 32) {
    volatile float* v = tile;
    v[tid] = v[tid] + v[tid + 32];  // each line needs __syncwarp() between the read and the write, and after it
    v[tid] = v[tid] + v[tid + 16];
    v[tid] = v[tid] + v[tid + 8];
    v[tid] = v[tid] + v[tid + 4];
    v[tid] = v[tid] + v[tid + 2];
    v[tid] = v[tid] + v[tid + 1];
  }
  if (tid == 0) sums[blockIdx.x] = tile[0];
}

static void launch(const float* x, float* out, std::size_t n) {
  sum_in_passes(x, out, n, kBlock, [](const float* in, float* sums, std::size_t count, unsigned blocks) {
    sum_missing_syncwarp<<<blocks, kBlock>>>(in, sums, count);
    CUDA_CHECK(cudaGetLastError());
  });
}

LADDER_STEP(Sum, launch, passes_height<kBlock>);
