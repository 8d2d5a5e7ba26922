#include <cuda_runtime.h>

// Say: out[c] = the sum of column c. Each element is read once, so memory bandwidth is the limit. Lanes on neighbouring
// columns coalesce; one thread per column would be right, but a few thousand threads don't fill a GPU.
// Say: a block is 32 columns x 16 warps. Each warp adds every 16th row; shared memory combines the warps' sums.
// Say: blockIdx.y cuts the rows into slices, and atomicAdd joins them: out must be cleared, and bits vary between runs.
// Next: the same bits every run: slices store partial sums, and the same kernel adds them, col_sum_03; then float4, 04.
__global__ void col_sum(const float* x, float* out, size_t rows, size_t cols, size_t height) {
  __shared__ float sums[16][32];
  const size_t column = blockIdx.x * size_t(32) + threadIdx.x;
  const size_t begin = blockIdx.y * height;
  const long long end = min(begin + height, rows);  // Say: signed, so the compiler can keep several loads in flight
  float sum = 0.0f;
  if (column < cols) {
    for (long long r = begin + threadIdx.y; r < end; r += 16) sum += x[r * cols + column];
  }
  sums[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();  // Say: no thread has returned yet, not even past the last column
  if (threadIdx.y > 0 || column >= cols) return;
  for (int y = 1; y < 16; ++y) sum += sums[y][threadIdx.x];
  atomicAdd(out + column, sum);
}

cudaError_t launch(const float* x, float* out, size_t rows, size_t cols) {
  if (cols == 0) return cudaSuccess;
  const cudaError_t error = cudaMemsetAsync(out, 0, cols * sizeof(float));
  if (error != cudaSuccess || rows == 0) return error;  // a grid of 0 blocks is an error
  const size_t height = rows / 65535 + 512;             // gridDim.y is at most 65535
  const dim3 block(32, 16), grid((cols + 31) / 32, (rows + height - 1) / height);
  col_sum<<<grid, block>>>(x, out, rows, cols, height);
  return cudaGetLastError();
}

// The answer ends here; the rest is for the checks.
#include "col_sum.cuh"
#include "whiteboard.cuh"
LADDER_STEP(ColSum, checked<launch>);
