// Problem:  step 04 loses half of an SM's loads whenever one of its two blocks ends.
// Idea:     the other way: blocks of 128. An SM holds 16, and where one ends a sixteenth of its threads is missing.
// Expect:   1.00 to 1.01x step 02. Not smaller: the GPU starts a block every 0.60 ns at best (with blocks of 64, at
//           every size), and 128 threads move 4 KB, 0.95 ns of an H200's bandwidth.
// Measured: 1.04x step 04, 1.00x cudaMemcpy at 2^28 (H200).
// Next:     why is 100 % of the data sheet's bandwidth out of reach? (Refresh, row misses, read-write turnaround.)
#include "copy.cuh"

__global__ void copy_small_block(const float* __restrict__ x, float* __restrict__ y, std::size_t n, bool aligned) {
  const std::size_t i = 4 * (std::size_t{blockIdx.x} * blockDim.x + threadIdx.x);
  if (aligned && i + 4 <= n) {
    *reinterpret_cast<float4*>(y + i) = *reinterpret_cast<const float4*>(x + i);
  } else {
    for (std::size_t k = i; k < n && k < i + 4; ++k) y[k] = x[k];
  }
}

static void launch(const float* x, float* y, std::size_t n) {
  if (n == 0) return;
  constexpr int block = 128;
  const unsigned grid = ceil_div(n, 4 * block);
  copy_small_block<<<grid, block>>>(x, y, n, aligned_for<float4>(x, y));
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Copy, launch);
