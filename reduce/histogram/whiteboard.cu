#include <cuda_runtime.h>

__global__ void histogram(const unsigned char* __restrict__ x, int* counts, size_t n) {
  __shared__ int copy[256];
  for (unsigned b = threadIdx.x; b < 256; b += blockDim.x) copy[b] = 0;
  __syncthreads();
  const size_t stride = size_t{gridDim.x} * blockDim.x;
  for (size_t i = size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += stride) atomicAdd(&copy[x[i]], 1);
  __syncthreads();
  for (unsigned b = threadIdx.x; b < 256; b += blockDim.x)
    if (copy[b] > 0) atomicAdd(&counts[b], copy[b]);
}

cudaError_t launch(const unsigned char* x, int* counts, size_t n) {
  if (cudaError_t error = cudaMemsetAsync(counts, 0, 256 * sizeof(int))) return error;
  const size_t block = 256, needed = (n + block - 1) / block, blocks = needed < 1024 ? needed : 1024;
  if (n > 0) histogram<<<blocks, block>>>(x, counts, n);
  return cudaGetLastError();
}

// The answer ends here. Say while you write it:
// With counters in global memory all threads update the same 256 words, one after another in L2. So each block counts
// in shared memory and adds its counters at the end.
// Two barriers: no thread counts before all counters are 0, and no thread merges before all have counted.
// The type is unsigned: a signed char could be a negative index. The grid is fixed, so few blocks merge.
// This is histogram 02; next come 16-byte loads (04) and a copy per lane, where no two lanes share a bank (06).

// The rest is for the checks.
#include "histogram.cuh"
#include "whiteboard.cuh"

LADDER_STEP(Histogram, checked<launch>);
