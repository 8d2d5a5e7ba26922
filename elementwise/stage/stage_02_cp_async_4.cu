// Problem:  in step 01 a loaded value waits in a register for its store to shared memory.
// Idea:     cp.async: 4 bytes from global to shared memory without a register. A thread waits for its batch of copies.
// Expect:   1.0x step 01: the same loads in flight. The barrier stays: a thread's wait covers only its own copies.
// Measured: 0.96x step 01, 0.48 of a copy at 2^28 (H200); 0.97x, 0.61 (H100).
// Why:      unknown. With eight blocks per SM it is 0.96x, too (H200).
// Next:     are larger pieces better?
#include "stage.cuh"

#include <cuda_pipeline.h>

__global__ void stage_cp_async_4(const float* __restrict__ x, float* __restrict__ y, std::size_t n) {
  __shared__ float tile[kTile];
  for (std::size_t first = std::size_t{blockIdx.x} * kTile; first < n; first += std::size_t{gridDim.x} * kTile) {
    const int count = static_cast<int>(n - first < kTile ? n - first : kTile);
    for (int k = threadIdx.x; k < count; k += kBlock) __pipeline_memcpy_async(&tile[k], &x[first + k], 4);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();  // the tile has arrived
    for (int k = threadIdx.x; k < count; k += kBlock) y[first + k] = tile[count - 1 - k];
    __syncthreads();  // the tile has been read
  }
}

static void launch(const float* x, float* y, std::size_t n) {
  if (n == 0) return;
  stage_cp_async_4<<<stage_blocks(n), kBlock>>>(x, y, n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Stage, launch);
