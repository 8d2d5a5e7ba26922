// A copy that reads one float of every `stride`. The sectors between two floats that are wanted come along: with stride
// 2 half of each is used, from 8 on one float of eight: 32 sectors for one request.
// Expect: useful bytes per second fall as the sectors rise, to about a quarter of stride 1's at stride 8, where each
// float has a sector to itself; and once more at 16, if DRAM delivers two sectors at a time.
// Next question: where do strides come from? (A column of a matrix; one field of an array of structs; see vec3_norm.)
#include "copy_stride.cuh"

__global__ void copy_with_stride(const float* __restrict__ x, float* __restrict__ y, std::size_t n,
                                 std::size_t stride) {
  const std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i * stride];
}

static void launch(const float* x, float* y, std::size_t n, std::size_t stride) {
  if (n == 0) return;  // a grid of 0 blocks is an error
  constexpr int block = 256;
  const auto grid = static_cast<unsigned>(ceil_div(n, block));
  copy_with_stride<<<grid, block>>>(x, y, n, stride);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(CopyStride, launch);
