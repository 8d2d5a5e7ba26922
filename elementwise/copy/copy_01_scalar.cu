// Problem:  a copy moves 8 bytes per element and computes nothing. Memory bandwidth is the only limit.
// Idea:     one thread per float. The 32 lanes of a warp read 32 consecutive floats: 4 sectors per request, coalesced.
// Expect:   0.5 to 0.8x cudaMemcpy. 2048 threads x 4 bytes are 8 KB of loads in flight per SM; at 900 ns of latency a
//           copy needs 10 KB (H100) or 15 KB (H200).
// Measured: 0.64x cudaMemcpy at 2^28 (H200); 0.80x (H100).
// Next:     the accesses are coalesced. What is left to gain?
#include "copy.cuh"

__global__ void copy_scalar(const float* __restrict__ x, float* __restrict__ y, std::size_t n) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}

static void launch(const float* x, float* y, std::size_t n) {
  if (n == 0) return;  // a grid of 0 blocks is an error
  constexpr int block = 256;
  const unsigned grid = ceil_div(n, block);
  copy_scalar<<<grid, block>>>(x, y, n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Copy, launch);
