// The first answer: every thread adds its element to the result with atomicAdd. It is right, and slow: all n additions
// hit one address, and the L2 cache does them one after another. The order of the additions changes from run to run,
// and so do the last bits of a float sum; the error may grow with n.
// Expect: about one addition per clock for the whole GPU, a hundredth of the memory's speed.
// Next question: how can a block agree on one sum before it touches the result?
#include "sum.cuh"

__global__ void sum_atomic(const float* __restrict__ x, float* out, std::size_t n) {
  const std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(out, x[i]);
}

static void launch(const float* x, float* out, std::size_t n) {
  CUDA_CHECK(cudaMemsetAsync(out, 0, sizeof(float)));  // atomicAdd adds to what is there
  if (n == 0) return;
  constexpr int block = 256;
  sum_atomic<<<static_cast<unsigned>(ceil_div(n, block)), block>>>(x, out, n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Sum, launch, [](std::size_t n) { return n; });
