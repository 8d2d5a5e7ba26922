// Problem:  in step 03 data crosses the link each time it is used.
// Idea:     managed memory. One pointer; on a fault, pages of 64 KB or more move to the side that touches them.
// Expect:   below step 01, 0.07 of the link (H200), 0.12 (H100): thousands of faults, tens of microseconds each.
// Measured: 0.15x step 03, 0.13 of the link at 2^26 (H200); 0.16x, 0.15 (H100).
// Why:      faults slow the reads of x to 9 GB/s. y has 47 (H100): its pages don't move twice (hypothesis, not tested).
// Next:     when is it the right choice?
#include "memory.cuh"

__global__ void memory_managed(const float* __restrict__ from, float* __restrict__ to, float factor, std::size_t n) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) to[i] = factor * from[i];
}

static void scale(const float* from, float* to, float factor, std::size_t n) {
  memory_managed<<<ceil_div(n, 256), 256>>>(from, to, factor, n);
  CUDA_CHECK(cudaGetLastError());
}

static void copy_in(const float* x, float* z, std::size_t n) { scale(x, z, 1.0f, n); }

static void read_on_host(const float* y, std::size_t n) {
  CUDA_CHECK(cudaDeviceSynchronize());  // the kernel must be done
  touch_pages(y, n);
}

static void copy_out(const float* z, float* y, std::size_t n) {
  scale(z, y, 1.0f, n);
  read_on_host(y, n);
}

static void whole(const float* x, float* y, std::size_t n) {
  scale(x, y, 2.0f, n);
  read_on_host(y, n);
}

// x and y are managed: cudaMallocManaged(&x, n * sizeof(float)), cudaFree(x).
LADDER_STEP(Transfer, ladder::Place::managed, copy_in, copy_out, whole);
