// A copy whose reads begin `offset` floats later. Memory moves in sectors of 32 bytes, 8 floats: with an offset that is
// no multiple of 8, the 128 bytes of a warp lie in five sectors instead of four.
// Expect: with other offsets than multiples of 8, the fifth sector of a request is the first of its neighbour's, and
// mostly still in L1 or L2: DRAM reads hardly more. What is lost is a little, not the fifth that counting gives.
// Next question: and float4? (A misaligned float4 is no slow access but a fault; see copy_02.)
#include "copy_offset.cuh"

__global__ void copy_with_offset(const float* __restrict__ x, float* __restrict__ y, std::size_t n,
                                 std::size_t offset) {
  const std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i + offset];
}

static void launch(const float* x, float* y, std::size_t n, std::size_t offset) {
  if (n == 0) return;  // a grid of 0 blocks is an error
  constexpr int block = 256;
  const auto grid = static_cast<unsigned>(ceil_div(n, block));
  copy_with_offset<<<grid, block>>>(x, y, n, offset);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(CopyOffset, launch);
