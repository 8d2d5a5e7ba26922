#include <cuda_runtime.h>

#include <cstdint>

// Say: one addition for 12 bytes, so memory bandwidth is the limit. float4 puts four times the bytes of each thread in
// flight. Its address must be a multiple of 16: what cudaMalloc returns is one, a + 1 is not.
// Next: two float4 of each input per thread, add_04.
__global__ void add(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, size_t n,
                    size_t n4) {
  // Say: widen to 64 bits before the product. A grid-stride loop is right for any n and any grid.
  const size_t first = size_t{blockIdx.x} * blockDim.x + threadIdx.x, stride = size_t{gridDim.x} * blockDim.x;
  for (size_t i = first; i < n4; i += stride) {
    const float4 u = reinterpret_cast<const float4*>(a)[i], v = reinterpret_cast<const float4*>(b)[i];
    reinterpret_cast<float4*>(c)[i] = make_float4(u.x + v.x, u.y + v.y, u.z + v.z, u.w + v.w);
  }
  for (size_t i = 4 * n4 + first; i < n; i += stride) c[i] = a[i] + b[i];  // the tail, or all of a misaligned array
}

cudaError_t launch(const float* a, const float* b, float* c, size_t n) {
  if (n == 0) return cudaSuccess;  // a grid of 0 blocks is an error
  const bool aligned = (uintptr_t(a) | uintptr_t(b) | uintptr_t(c)) % 16 == 0;
  // Say: with float4, divide the grid by 4, not the block.
  const unsigned block = 256, grid = (n + 4 * block - 1) / (4 * block);
  add<<<grid, block>>>(a, b, c, n, aligned ? n / 4 : 0);
  return cudaGetLastError();
}

// The answer ends here; the rest is for the checks.
#include "add.cuh"
#include "whiteboard.cuh"
LADDER_STEP(Add, checked<launch>);
