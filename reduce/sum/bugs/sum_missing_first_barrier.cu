// bug: no barrier between filling the tile and the first round, so a thread adds a value not stored yet
// caught by: cpu forward | out[0] of 1 is wrong: got nan
// caught by: cpu-trace | shared memory with no barrier between
// caught by: gpu racecheck | hazard | --n=1025
// stage: right
#include "../sum.cuh"

constexpr int kBlock = 256;

__global__ void sum_missing_first_barrier(const float* __restrict__ x, float* __restrict__ partials, std::size_t n) {
  __shared__ float tile[kBlock];
  const int tid = threadIdx.x;
  const std::size_t i = std::size_t{blockIdx.x} * kBlock + tid;
  tile[tid] = i < n ? x[i] : 0.0f;
  for (int stride = kBlock / 2; stride > 0; stride /= 2) {  // __syncthreads() is needed before the loop
    if (tid < stride) tile[tid] += tile[tid + stride];
    __syncthreads();
  }
  if (tid == 0) partials[blockIdx.x] = tile[0];
}

static void launch(const float* x, float* out, std::size_t n) {
  float* partials = scratch<float>(2 * ceil_div(n, kBlock));  // for all passes
  while (n > kBlock) {
    const auto blocks = static_cast<unsigned>(ceil_div(n, kBlock));
    sum_missing_first_barrier<<<blocks, kBlock>>>(x, partials, n);
    CUDA_CHECK(cudaGetLastError());
    x = partials;
    n = blocks;
    partials += blocks;
  }
  sum_missing_first_barrier<<<1, kBlock>>>(x, out, n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Sum, launch, passes_height<kBlock>);
