// Problem:  more bytes in flight per thread did not help step 03.
// Idea:     one float4 per thread, in blocks of 1024: a block requests 16 KB of neighbouring addresses together, then
//           writes them.
// Expect:   1.00 to 1.02x step 02, from fewer switches between DRAM rows, and between reading and writing.
// Measured: 0.99x step 03, 0.96x cudaMemcpy at 2^28 (H200); 1.01x, 1.01x (H100).
// Why:      1.01x step 02 (H100), 0.96x (H200). An SM holds two such blocks; where one ends, half of the SM's warps
//           are gone until the next starts. ncu: 60 % are resident on average, 78 % in step 02 (H200).
// Next:     and smaller blocks than step 02's? (At 64 threads the GPU cannot start blocks fast enough: 0.79x.)
#include "copy.cuh"

__global__ void copy_large_block(const float* __restrict__ x, float* __restrict__ y, std::size_t n, bool aligned) {
  const std::size_t i = 4 * (std::size_t{blockIdx.x} * blockDim.x + threadIdx.x);
  if (aligned && i + 4 <= n) {
    *reinterpret_cast<float4*>(y + i) = *reinterpret_cast<const float4*>(x + i);
  } else {
    for (std::size_t k = i; k < n && k < i + 4; ++k) y[k] = x[k];
  }
}

static void launch(const float* x, float* y, std::size_t n) {
  if (n == 0) return;
  constexpr int block = 1024;
  const unsigned grid = ceil_div(n, 4 * block);
  copy_large_block<<<grid, block>>>(x, y, n, aligned_for<float4>(x, y));
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Copy, launch);
