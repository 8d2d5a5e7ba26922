// The first answer: one thread per element. x < 0 ? 0 : x lets NaN through, as PyTorch does; fmaxf(x, 0) would turn a
// NaN into 0 and hide the bug that made it.
// Expect: the speed of a scalar copy: 8 bytes per element, one comparison.
// Next question: how could it cost less than a copy? (Fuse it into its neighbour: no bytes at all.)
#include "relu.cuh"

__device__ static float relu(float x) { return x < 0.0f ? 0.0f : x; }

__global__ void relu_scalar(const float* __restrict__ x, float* __restrict__ y, std::size_t n) {
  const std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) y[i] = relu(x[i]);
}

static void launch(const float* x, float* y, std::size_t n) {
  if (n == 0) return;  // a grid of 0 blocks is an error
  constexpr int block = 256;
  const auto grid = static_cast<unsigned>(ceil_div(n, block));
  relu_scalar<<<grid, block>>>(x, y, n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Relu, launch);
