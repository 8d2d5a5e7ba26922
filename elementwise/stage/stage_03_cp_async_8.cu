// Problem:  step 02 issues four copies per thread and tile.
// Idea:     8 bytes each, if x is 8-byte aligned. Otherwise, and for the last float, 4 bytes.
// Expect:   1.0 to 1.1x step 02: half the instructions for the same bytes in flight.
// Measured: 1.06x step 02, 0.51 of a copy at 2^28 (H200); 1.05x, 0.64 (H100).
// Next:     do 16 bytes gain more?
#include "stage.cuh"

#include <cuda_pipeline.h>

constexpr int kWidth = 2;  // floats per copy

__global__ void stage_cp_async_8(const float* __restrict__ x, float* __restrict__ y, std::size_t n, bool aligned) {
  __shared__ alignas(16) float tile[kTile];
  for (std::size_t first = std::size_t{blockIdx.x} * kTile; first < n; first += std::size_t{gridDim.x} * kTile) {
    const int count = static_cast<int>(n - first < kTile ? n - first : kTile);
    const int wide = aligned ? count / kWidth * kWidth : 0;
    for (int k = kWidth * threadIdx.x; k < wide; k += kWidth * kBlock) {
      __pipeline_memcpy_async(&tile[k], &x[first + k], 4 * kWidth);
    }
    for (int k = wide + threadIdx.x; k < count; k += kBlock) __pipeline_memcpy_async(&tile[k], &x[first + k], 4);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();  // the tile has arrived
    for (int k = threadIdx.x; k < count; k += kBlock) y[first + k] = tile[count - 1 - k];
    __syncthreads();  // the tile has been read
  }
}

static void launch(const float* x, float* y, std::size_t n) {
  if (n == 0) return;
  stage_cp_async_8<<<stage_blocks(n), kBlock>>>(x, y, n, aligned_for<float2>(x));
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Stage, launch);
