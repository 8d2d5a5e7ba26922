// bug: the tree is built in the input array itself; the result is right once, and the caller's data is gone
// caught by: cpu forward | the input x was changed
// caught by: gpu | the input x was changed
#include "../sum.cuh"

constexpr int kBlock = 256;

__global__ void sum_in_place(float* x, float* sums, std::size_t n) {
  const int tid = threadIdx.x;
  const std::size_t i = static_cast<std::size_t>(blockIdx.x) * kBlock + tid;
  for (int stride = kBlock / 2; stride > 0; stride /= 2) {
    if (tid < stride && i + stride < n) x[i] += x[i + stride];
    __syncthreads();
  }
  if (tid == 0) sums[blockIdx.x] = x[i];
}

static void launch(const float* x, float* out, std::size_t n) {
  sum_in_passes(x, out, n, kBlock, [](const float* in, float* sums, std::size_t count, unsigned blocks) {
    sum_in_place<<<blocks, kBlock>>>(const_cast<float*>(in), sums, count);
    CUDA_CHECK(cudaGetLastError());
  });
}

LADDER_STEP(Sum, launch, passes_height<kBlock>);
