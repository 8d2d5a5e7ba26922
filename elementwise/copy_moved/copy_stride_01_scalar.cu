// Problem:  what does a copy lose if it reads one float of every `stride`?
// Idea:     y[i] = x[i * stride]. Whole 32-byte sectors move: stride 2 uses half of each, stride 8 and more an eighth.
// Expect:   0.16 to 0.20 of a copy at stride=8 (H200), 0.20 to 0.24 (H100): 32 sectors per request, also above 8.
// Measured: 0.25 of a copy at stride=8 (H200); 0.24 (H100).
// Why:      on the H200 latency limits stride 1, too, so stride 8 loses less. The rate falls until stride 16: DRAM
//           reads 64 bytes at a time (ncu, H200: 537 MB at stride 8, 1074 MB at 16).
// Next:     where do strides come from?
#include "copy_stride.cuh"

__global__ void copy_with_stride(const float* __restrict__ x, float* __restrict__ y, std::size_t n,
                                 std::size_t stride) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i * stride];
}

static void launch(const float* x, float* y, std::size_t n, std::size_t stride) {
  if (n == 0) return;  // a grid of 0 blocks is an error
  constexpr int block = 256;
  const unsigned grid = ceil_div(n, block);
  copy_with_stride<<<grid, block>>>(x, y, n, stride);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(CopyStride, launch);
