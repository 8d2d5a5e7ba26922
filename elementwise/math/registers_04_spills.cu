// Problem:  step 03 still has a quarter of the warps that an SM could hold.
// Idea:     ask for more: __launch_bounds__(256, 4), 64 registers for each thread. What doesn't fit is spilled to local
//           memory. -maxrregcount=64 sets such a limit for a whole file.
// Expect:   0.4 to 0.9x step 03 at 2^26: twice the warps, but 196 bytes of spills each way (ptxas, sm_90), more than
//           step 01's 128, and with 1024 threads they nearly fill L1.
// Measured: 0.55x step 03, 0.48 of a copy at 2^26 (H200); 0.54x, 0.49 (H100).
// Next:     what does __launch_bounds__(256) alone promise?
#include "registers.cuh"

constexpr int kBlock = 256, kBlocksPerSm = 4;

__global__ void __launch_bounds__(kBlock, kBlocksPerSm)
    registers_spills(const int* __restrict__ x, int* __restrict__ y, std::size_t n, std::size_t groups) {
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
  registers_spills<<<ceil_div(groups, kBlock), kBlock>>>(x, y, n, groups);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Registers, launch);
