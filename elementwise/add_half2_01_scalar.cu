// The first answer: one thread per element, __hadd for the sum. Half the bytes of a float addition, so memory could do
// twice as many; but a warp's request is now 64 bytes, two sectors, and a thread has only 4 bytes of loads in flight.
// Expect: no more elements per second than the scalar float addition, or little more: half of its bytes per second.
// Next question: half has 11 bits; what is 2048 + 1? (2048. Sums of many halves are kept in float for that reason.)
#include "add_half2.cuh"

__global__ void add_half_scalar(const __half* __restrict__ a, const __half* __restrict__ b, __half* __restrict__ c,
                                std::size_t n) {
  const std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) c[i] = __hadd(a[i], b[i]);
}

static void launch(const __half* a, const __half* b, __half* c, std::size_t n) {
  if (n == 0) return;  // a grid of 0 blocks is an error
  constexpr int block = 256;
  const auto grid = static_cast<unsigned>(ceil_div(n, block));
  add_half_scalar<<<grid, block>>>(a, b, c, n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(AddHalf2, launch);
