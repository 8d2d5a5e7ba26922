// bug: Phi is written (1 + erf) / 2; for x = -6 that is 1 - 0.999999998, and float has no digits left
// caught by: cpu forward | above bound
// caught by: gpu | above bound
// stage: right
#include "../gelu.cuh"

__global__ void gelu_cancels(const float* __restrict__ x, float* __restrict__ y, std::size_t n) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 0.5f * x[i] * (1.0f + erff(x[i] * 0.707106781f));  // 0.5 x erfc(-x / sqrt 2)
}

static void launch(const float* x, float* y, std::size_t n) {
  if (n == 0) return;
  constexpr int block = 256;
  gelu_cancels<<<ceil_div(n, block), block>>>(x, y, n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Gelu, launch);
