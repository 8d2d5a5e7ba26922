// bug: every block adds its sum to *out, which is never set to 0; on fresh memory it often works
// caught by: cpu forward | out[0] of 1 is wrong: got nan
// caught by: gpu | out[0] of 1 is wrong: got nan
// stage: right
#include "../sum.cuh"

constexpr int kBlock = 256;

__global__ void sum_output_not_initialised(const float* __restrict__ x, float* out, std::size_t n) {
  __shared__ float tile[kBlock];
  const int tid = threadIdx.x;
  const std::size_t i = std::size_t{blockIdx.x} * kBlock + tid;
  tile[tid] = i < n ? x[i] : 0.0f;
  __syncthreads();
  for (int stride = kBlock / 2; stride > 0; stride /= 2) {
    if (tid < stride) tile[tid] += tile[tid + stride];
    __syncthreads();
  }
  if (tid == 0) atomicAdd(out, tile[0]);
}

static void launch(const float* x, float* out, std::size_t n) {
  const auto grid = static_cast<unsigned>(std::max<std::size_t>(1, ceil_div(n, kBlock)));
  // Missing here: CUDA_CHECK(cudaMemsetAsync(out, 0, sizeof(float)));
  sum_output_not_initialised<<<grid, kBlock>>>(x, out, n);
  CUDA_CHECK(cudaGetLastError());
}

// log2(256) levels of tree, then one addition per block.
LADDER_STEP(Sum, launch, [](std::size_t n) { return 8 + n / kBlock; });
