#include <cuda_runtime.h>

// Say: k taps for 8 bytes of traffic. With few taps memory is the limit and L1 has the neighbours. With many a tile
// pays: each element is loaded once per block, and bounds are tested once per element, not per tap.
// Say: all threads load in a loop, so tile and halo need no special threads and any block size works. Zeros outside.
// Say: all lanes read the same weight, so constant memory would fit. Here weights are in shared memory, which needs no
// symbol.
// Next: several outputs per thread, with the window in registers (conv1d_04).
__global__ void conv1d(const float* __restrict__ in, const float* __restrict__ w, float* __restrict__ out, long long n,
                       int k) {
  extern __shared__ float shared[];
  float *tile = shared, *weight = shared + blockDim.x + k - 1;
  const long long first = (long long)blockIdx.x * blockDim.x;
  for (unsigned t = threadIdx.x; t < blockDim.x + k - 1; t += blockDim.x) {
    const long long at = first + t - k / 2;
    tile[t] = at >= 0 && at < n ? in[at] : 0.0f;
  }
  for (int j = threadIdx.x; j < k; j += blockDim.x) weight[j] = w[j];
  __syncthreads();  // Say: no thread may return before this
  if (first + threadIdx.x >= n) return;
  float sum = 0;
  for (int j = 0; j < k; ++j) sum += weight[j] * tile[threadIdx.x + j];
  out[first + threadIdx.x] = sum;
}

cudaError_t launch(const float* in, const float* w, float* out, size_t n, int k) {
  if (n == 0) return cudaSuccess;  // a grid of 0 blocks is an error
  const unsigned block = 256, grid = (n + block - 1) / block;
  conv1d<<<grid, block, (block + 2 * k - 1) * sizeof(float)>>>(in, w, out, n, k);
  return cudaGetLastError();
}

// The answer ends here; the rest is for the checks.
#include "conv1d.cuh"
#include "whiteboard.cuh"
LADDER_STEP(Conv1d, checked<launch>);
