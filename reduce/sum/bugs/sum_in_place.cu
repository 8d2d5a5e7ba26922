// bug: the tree is built in the input: the first result is right, but the caller's data are overwritten
// caught by: cpu forward | the input x was changed
// caught by: gpu | the input x was changed
// stage: memory
#include "../sum.cuh"

constexpr int kBlock = 256;

__global__ void sum_in_place(float* x, float* partials, std::size_t n) {
  const int tid = threadIdx.x;
  const std::size_t i = std::size_t{blockIdx.x} * kBlock + tid;
  for (int stride = kBlock / 2; stride > 0; stride /= 2) {
    if (tid < stride && i + stride < n) x[i] += x[i + stride];
    __syncthreads();
  }
  if (tid == 0) partials[blockIdx.x] = i < n ? x[i] : 0.0f;
}

static void launch(const float* x, float* out, std::size_t n) {
  float* partials = scratch<float>(2 * ceil_div(n, kBlock));  // for all passes
  while (n > kBlock) {
    const auto blocks = static_cast<unsigned>(ceil_div(n, kBlock));
    sum_in_place<<<blocks, kBlock>>>(const_cast<float*>(x), partials, n);
    CUDA_CHECK(cudaGetLastError());
    x = partials;
    n = blocks;
    partials += blocks;
  }
  sum_in_place<<<1, kBlock>>>(const_cast<float*>(x), out, n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Sum, launch, passes_height<kBlock>);
