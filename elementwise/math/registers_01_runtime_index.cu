// Problem:  a thread keeps 32 values and needs them in an order that depends on the data.
// Idea:     an array, indexed as the formula says. Registers have no addresses, so an array that is indexed at run time
//           is in local memory: DRAM by address, cached in L1.
// Expect:   0.4 to 0.8 of a copy at 2^26: 32 more stores and 32 more loads per thread, which hit L1 while its 128 bytes
//           per thread fit there, and displace other lines when they don't.
// Measured: 0.70 of a copy at 2^26 (H200); 0.75 (H100).
// Next:     how do you choose among registers?
#include "registers.cuh"

constexpr int kBlock = 256;

__global__ void registers_runtime_index(const int* __restrict__ x, int* __restrict__ y, std::size_t n,
                                        std::size_t groups) {
  const std::size_t g = std::size_t{blockIdx.x} * kBlock + threadIdx.x;
  if (g >= groups) return;
  int v[kInGroup];
#pragma unroll
  for (int k = 0; k < kInGroup; ++k) v[k] = g + k * groups < n ? x[g + k * groups] : 0;
  const unsigned shift = static_cast<unsigned>(v[0]);

#pragma unroll
  for (int k = 0; k < kInGroup; ++k) {
    if (g + k * groups < n) y[g + k * groups] = v[(k + shift) % kInGroup];
  }
}

static void launch(const int* x, int* y, std::size_t n) {
  if (n == 0) return;
  const std::size_t groups = ceil_div(n, kInGroup);
  registers_runtime_index<<<ceil_div(groups, kBlock), kBlock>>>(x, y, n, groups);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Registers, launch);
