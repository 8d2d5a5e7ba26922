// Problem:  what does a copy lose if its reads start at any address?
// Idea:     y[i] = x[i + offset]. Unless offset is a multiple of 8, a warp's 128 bytes lie in five sectors, not four.
// Expect:   0.61 to 0.64 of a copy (H200), 0.76 to 0.80 (H100): the fifth sector is mostly still in L1 or L2.
// Measured: 0.62 of a copy at offset=1 (H200); 0.78 (H100).
// Why:      0.97x offset 0 on both cards, at offsets 8 and 16 too. L2 sees only 2 % more requests (ncu, H200). A
//           request that spans two 128-byte lines may be what costs (hypothesis, not tested).
// Next:     what does a misaligned float4 do?
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
