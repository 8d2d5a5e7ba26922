// The first answer: one thread copies one float. The lanes of a warp touch 32 neighbouring floats, so each request
// moves four full 32-byte sectors: perfectly coalesced.
// Expect: not yet the memory's speed. By Little's law (latency x bandwidth) an H100 needs some 15 KB in flight per SM;
// its 2048 threads with one 4-byte load each have 8 KB. A GPU with less bandwidth per SM may be at its roof already.
// Next question: the access is coalesced; what is left to gain?
#include "copy.cuh"

__global__ void copy_scalar(const float* __restrict__ x, float* __restrict__ y, std::size_t n) {
  const std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}

static void launch(const float* x, float* y, std::size_t n) {
  if (n == 0) return;  // a grid of 0 blocks is an error
  constexpr int block = 256;
  const auto grid = static_cast<unsigned>(ceil_div(n, block));
  copy_scalar<<<grid, block>>>(x, y, n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Copy, launch);
