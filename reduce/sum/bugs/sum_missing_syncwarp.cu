// bug: the last warp relies on volatile and lockstep; since Volta lanes may diverge, and nothing orders their accesses
// caught by: cpu forward | out[0] of 1 is wrong
// caught by: cpu-trace | shared memory with no barrier between
// caught by: gpu racecheck | hazard | --n=1025
// stage: races and barriers
#include "../sum.cuh"

constexpr int kBlock = 256;

__global__ void sum_missing_syncwarp(const float* __restrict__ x, float* __restrict__ partials, std::size_t n) {
  __shared__ float tile[kBlock];
  const int tid = threadIdx.x;
  const std::size_t i = std::size_t{blockIdx.x} * kBlock + tid;
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
  if (tid == 0) partials[blockIdx.x] = tile[0];
}

static void launch(const float* x, float* out, std::size_t n) {
  float* partials = scratch<float>(2 * ceil_div(n, kBlock));  // for all passes
  while (n > kBlock) {
    const auto blocks = static_cast<unsigned>(ceil_div(n, kBlock));
    sum_missing_syncwarp<<<blocks, kBlock>>>(x, partials, n);
    CUDA_CHECK(cudaGetLastError());
    x = partials;
    n = blocks;
    partials += blocks;
  }
  sum_missing_syncwarp<<<1, kBlock>>>(x, out, n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Sum, launch, passes_height<kBlock>);
