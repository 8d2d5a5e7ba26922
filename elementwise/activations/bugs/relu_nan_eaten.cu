// bug: fmaxf returns the operand that is a number, so relu(NaN) becomes 0 and hides what made the NaN
// caught by: cpu forward | want nan
// caught by: gpu | want nan
// stage: right
#include "../relu.cuh"

__global__ void relu_fmaxf(const float* __restrict__ x, float* __restrict__ y, std::size_t n) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = x[i];
  y[i] = v == 0.0f ? v : fmaxf(v, 0.0f);  // v < 0 ? 0 : v keeps NaN
}

static void launch(const float* x, float* y, std::size_t n) {
  if (n == 0) return;
  constexpr int block = 256;
  relu_fmaxf<<<ceil_div(n, block), block>>>(x, y, n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Relu, launch);
