// bug: the tanh formula, which approximates Phi: another function, off by up to 4.7e-4 near x = 2.7
// caught by: cpu forward | above bound
// caught by: gpu | above bound
// stage: right
#include "../gelu.cuh"

__global__ void gelu_by_tanh(const float* __restrict__ x, float* __restrict__ y, std::size_t n) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = x[i];
  y[i] = 0.5f * v * (1.0f + tanhf(0.797884561f * (v + 0.044715f * v * v * v)));  // sqrt(2 / pi)
}

static void launch(const float* x, float* y, std::size_t n) {
  if (n == 0) return;
  constexpr int block = 256;
  gelu_by_tanh<<<ceil_div(n, block), block>>>(x, y, n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Gelu, launch);
