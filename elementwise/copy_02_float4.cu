// Step 01 has 4 bytes in flight per thread. Idea: float4, one 16-byte access for four floats. The sectors moved are the
// same; a quarter of the instructions move them, and every thread has four times the bytes in flight. Two conditions
// come with it: the address must be a multiple of 16 (else the access faults), and n may leave a rest of 1 to 3 floats.
// A thread that cannot use float4 copies its four floats one by one.
// Expect: the memory's speed. How much that gains depends on how far step 01 was from it: a few per cent on older GPUs,
// far more where the bandwidth has outgrown the threads.
// Next question: what happens with copy(x + 1, y, n)?
#include "copy.cuh"

__global__ void copy_float4(const float* __restrict__ x, float* __restrict__ y, std::size_t n, bool aligned) {
  const std::size_t i = 4 * (static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x);
  if (aligned && i + 4 <= n) {
    *reinterpret_cast<float4*>(y + i) = *reinterpret_cast<const float4*>(x + i);
  } else {
    for (std::size_t k = i; k < n && k < i + 4; ++k) y[k] = x[k];
  }
}

static void launch(const float* x, float* y, std::size_t n) {
  if (n == 0) return;
  constexpr int block = 256;
  const auto grid = static_cast<unsigned>(ceil_div(n, 4 * block));
  copy_float4<<<grid, block>>>(x, y, n, aligned_for<float4>(x, y));
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Copy, launch);
