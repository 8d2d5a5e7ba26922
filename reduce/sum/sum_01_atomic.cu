// Problem:  add n floats. Each is read once: 1 FLOP for 4 bytes, so memory bandwidth is the limit.
// Idea:     one thread per element; atomicAdd adds it to the result.
// Expect:   at most 0.003x CUB at 2^28: all n atomics hit one address, and L2 performs at most one of them per clock.
// Measured: 0.0005x CUB at 2^28 (H200); 0.0008x (H100).
// Next:     atomics add in any order, so the last bits differ between runs. Can a block first compute one sum?
#include "sum.cuh"

__global__ void sum_atomic(const float* __restrict__ x, float* out, std::size_t n) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(out, x[i]);
}

static void launch(const float* x, float* out, std::size_t n) {
  CUDA_CHECK(cudaMemsetAsync(out, 0, sizeof(float)));  // atomicAdd adds to the value stored there
  if (n == 0) return;                                  // a grid of 0 blocks is an error
  constexpr int block = 256;
  sum_atomic<<<static_cast<unsigned>(ceil_div(n, block)), block>>>(x, out, n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Sum, launch, [](std::size_t n) { return n; });
