// Problem:  step 01 moves 256 bytes to and from local memory per thread.
// Idea:     indices that the compiler knows. Rotate by 1, 2, 4, 8 and 16, each only if that bit of the amount is set:
//           five rounds of 32 selects, fully unrolled, and every value stays in a register.
// Expect:   0.8 to 1.3x step 01 at 2^26: 160 selects per thread instead of 64 accesses to local memory, but 139
//           registers allow one block of 256 per SM; the 123 of step 01 allow two.
// Measured: 0.92x step 01, 0.64 of a copy at 2^26 (H200); 1.04x, 0.79 (H100).
// Next:     how many registers does that take, and what decides it?
#include "registers.cuh"

constexpr int kBlock = 256;

__global__ void registers_selects(const int* __restrict__ x, int* __restrict__ y, std::size_t n, std::size_t groups) {
  const std::size_t g = std::size_t{blockIdx.x} * kBlock + threadIdx.x;
  if (g >= groups) return;
  int v[kInGroup];
#pragma unroll
  for (int k = 0; k < kInGroup; ++k) v[k] = g + k * groups < n ? x[g + k * groups] : 0;
  const unsigned shift = static_cast<unsigned>(v[0]);

#pragma unroll
  for (int by = 1; by < kInGroup; by *= 2) {
    int rotated[kInGroup];
#pragma unroll
    for (int k = 0; k < kInGroup; ++k) rotated[k] = (shift & by) != 0 ? v[(k + by) % kInGroup] : v[k];
#pragma unroll
    for (int k = 0; k < kInGroup; ++k) v[k] = rotated[k];
  }
#pragma unroll
  for (int k = 0; k < kInGroup; ++k) {
    if (g + k * groups < n) y[g + k * groups] = v[k];
  }
}

static void launch(const int* x, int* y, std::size_t n) {
  if (n == 0) return;
  const std::size_t groups = ceil_div(n, kInGroup);
  registers_selects<<<ceil_div(groups, kBlock), kBlock>>>(x, y, n, groups);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Registers, launch);
