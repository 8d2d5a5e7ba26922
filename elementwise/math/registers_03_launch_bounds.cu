// Problem:  step 02 takes 139 registers (ptxas, sm_90), so an SM has one block of 256 threads and waits for its loads.
// Idea:     __launch_bounds__(256, 2): the compiler must let two blocks of 256 threads run on an SM, so a thread gets
//           128 registers at most. What doesn't fit is spilled to local memory: here 8 bytes.
// Expect:   1.1 to 1.5x step 02 at 2^26: twice the warps for next to no spills, as many as step 01 without its traffic.
// Measured: 1.34x step 02, 0.86 of a copy at 2^26 (H200); 1.16x, 0.91 (H100).
// Next:     would four blocks be better?
#include "registers.cuh"

constexpr int kBlock = 256, kBlocksPerSm = 2;

__global__ void __launch_bounds__(kBlock, kBlocksPerSm)
    registers_launch_bounds(const int* __restrict__ x, int* __restrict__ y, std::size_t n, std::size_t groups) {
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
  registers_launch_bounds<<<ceil_div(groups, kBlock), kBlock>>>(x, y, n, groups);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Registers, launch);
