// Problem:  what does a copy lose if its reads start at any address?
// Idea:     y[i] = x[i + offset]. With an offset that is no multiple of 8, a warp's 128 bytes lie in five 32-byte
//           sectors, not four.
// Expect:   0.95 to 1.0x offset 0, and no loss at multiples of 8: the fifth sector is the neighbour's first, mostly
//           still in L1 or L2.
// Measured: 0.62 of a copy at offset=1 (H200); 0.78 (H100).
// Why:      0.97x on both cards, at offsets 8 and 16 too. The fifth sector comes from L1: L2 is asked for 2 % more
//           (ncu, H200). What costs may be a request in two 128-byte lines (hypothesis, not tested).
// Next:     and float4? (A misaligned float4 is a fault, not a slow access; see copy_02.)
#include "copy_offset.cuh"

__global__ void copy_with_offset(const float* __restrict__ x, float* __restrict__ y, std::size_t n,
                                 std::size_t offset) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i + offset];
}

static void launch(const float* x, float* y, std::size_t n, std::size_t offset) {
  if (n == 0) return;  // a grid of 0 blocks is an error
  constexpr int block = 256;
  const unsigned grid = ceil_div(n, block);
  copy_with_offset<<<grid, block>>>(x, y, n, offset);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(CopyOffset, launch);
