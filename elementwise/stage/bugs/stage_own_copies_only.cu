// bug: no barrier after the wait: a thread waits for its own copies only, then reads what others copied
// caught by: cpu | is wrong
// caught by: cpu-trace | shared memory with no barrier between
// caught by: gpu racecheck | hazard | --n=1025
// stage: right
#include "../stage.cuh"

#include <cuda_pipeline.h>

constexpr int kWidth = 4;  // floats per copy

__device__ static void fetch(float* tile, const float* from, int count, bool aligned) {
  const int wide = aligned ? count / kWidth * kWidth : 0;
  for (int k = kWidth * threadIdx.x; k < wide; k += kWidth * kBlock) {
    __pipeline_memcpy_async(&tile[k], &from[k], 4 * kWidth);
  }
  for (int k = wide + threadIdx.x; k < count; k += kBlock) __pipeline_memcpy_async(&tile[k], &from[k], 4);
}

__global__ void stage_own_copies(const float* __restrict__ x, float* __restrict__ y, std::size_t n, bool aligned) {
  __shared__ alignas(16) float tile[2][kTile];
  const auto count_at = [&](std::size_t first) { return static_cast<int>(n - first < kTile ? n - first : kTile); };
  const std::size_t step = std::size_t{gridDim.x} * kTile;
  std::size_t first = std::size_t{blockIdx.x} * kTile;
  fetch(tile[0], x + first, count_at(first), aligned);  // there are no more blocks than tiles
  __pipeline_commit();
  for (int stage = 0; first < n; first += step, stage ^= 1) {
    const std::size_t next = first + step;
    if (next < n) fetch(tile[stage ^ 1], x + next, count_at(next), aligned);
    __pipeline_commit();
    __pipeline_wait_prior(1);
    // __syncthreads() is needed here
    const int count = count_at(first);
    for (int k = threadIdx.x; k < count; k += kBlock) y[first + k] = tile[stage][count - 1 - k];
    __syncthreads();  // the tile has been read
  }
}

static void launch(const float* x, float* y, std::size_t n) {
  if (n == 0) return;
  stage_own_copies<<<stage_blocks(n), kBlock>>>(x, y, n, aligned_for<float4>(x));
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Stage, launch);
