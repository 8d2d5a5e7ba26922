// bug: the bounds test is off by one; one element of a million is missing, far below any fixed tolerance
// caught by: cpu forward | out[0] of 1 is wrong
// caught by: gpu | out[0] of 1 is wrong
// stage: right
#include "../sum.cuh"

constexpr int kBlock = 256;

__global__ void sum_last_element_dropped(const float* __restrict__ x, float* __restrict__ partials, std::size_t n) {
  __shared__ float tile[kBlock];
  const int tid = threadIdx.x;
  const std::size_t i = std::size_t{blockIdx.x} * kBlock + tid;
  tile[tid] = i + 1 < n ? x[i] : 0.0f;  // must be i < n
  __syncthreads();
  for (int stride = kBlock / 2; stride > 0; stride /= 2) {
    if (tid < stride) tile[tid] += tile[tid + stride];
    __syncthreads();
  }
  if (tid == 0) partials[blockIdx.x] = tile[0];
}

static void launch(const float* x, float* out, std::size_t n) {
  float* partials = scratch<float>(2 * ceil_div(n, kBlock));  // for all passes
  while (n > kBlock) {
    const auto blocks = static_cast<unsigned>(ceil_div(n, kBlock));
    sum_last_element_dropped<<<blocks, kBlock>>>(x, partials, n);
    CUDA_CHECK(cudaGetLastError());
    x = partials;
    n = blocks;
    partials += blocks;
  }
  sum_last_element_dropped<<<1, kBlock>>>(x, out, n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Sum, launch, passes_height<kBlock>);
