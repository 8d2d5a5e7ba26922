// Problem:  a sum of halves moves half the bytes of a sum of floats. Does it run twice as fast?
// Idea:     one thread per element, __hadd for the sum. A warp's request is 64 bytes, two sectors.
// Expect:   0.41 to 0.45 of a copy (H200), 0.46 to 0.51 (H100): the elements per second of add_01, with half of its
//           bytes in flight.
// Measured: 0.50 of a copy at 2^28 (H200); 0.65 (H100).
// Why:      latency grows with the load: 830 ns here, 1170 ns in add_01 (H100; bytes in flight over read rate).
// Next:     a half has 11 significant bits. What is 2048 + 1?
#include "add_half2.cuh"

__global__ void add_half_scalar(const __half* __restrict__ a, const __half* __restrict__ b, __half* __restrict__ c,
                                std::size_t n) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) c[i] = __hadd(a[i], b[i]);
}

static void launch(const __half* a, const __half* b, __half* c, std::size_t n) {
  if (n == 0) return;  // a grid of 0 blocks is an error
  constexpr int block = 256;
  const unsigned grid = ceil_div(n, block);
  add_half_scalar<<<grid, block>>>(a, b, c, n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(AddHalf2, launch);
