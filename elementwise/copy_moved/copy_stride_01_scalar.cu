// Problem:  what does a copy lose if it reads one float of every `stride`?
// Idea:     y[i] = x[i * stride]. The rest of each 32-byte sector comes along: stride 2 uses half of it, stride 8 and
//           more an eighth.
// Expect:   falling to 0.25 to 0.3x stride 1 at stride 8, as a request grows from 4 to 32 sectors; then level, one
//           sector per float.
// Measured: 0.57 of a copy at stride=2 (H200); 0.63 (H100).
// Why:      stride 16 takes 1.9 times as long as 8 on both cards, and is level from there on: DRAM reads 64 bytes for
//           each float. ncu at 2^24 on the H200: 537 MB read at stride 8, 1074 MB at 16.
// Next:     where do strides come from? (A column of a matrix; one field of an array of structs, see vec3_norm.)
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
