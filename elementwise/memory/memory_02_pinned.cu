// Problem:  step 01 copies everything twice.
// Idea:     pinned (page-locked) memory. The copy engine reads it directly, and cudaMemcpyAsync returns at once.
// Expect:   0.5 of the link, which is timed in both directions at once. Here they follow each other at full speed.
// Measured: 7.19x step 01, 0.56 of the link at 2^26 (H200); 5.26x, 0.63 (H100).
// Why:      one direction alone has 55 GB/s, both at once 85 (H100) or 96 GB/s (H200), not 110.
// Next:     why not pin everything?
#include "memory.cuh"

static void copy_in(const float* x, float* z, std::size_t n) {
  CUDA_CHECK(cudaMemcpyAsync(z, x, n * sizeof(float), cudaMemcpyHostToDevice));
}

static void copy_out(const float* z, float* y, std::size_t n) {
  CUDA_CHECK(cudaMemcpyAsync(y, z, n * sizeof(float), cudaMemcpyDeviceToHost));
}

// x and y are pinned: cudaMallocHost(&x, n * sizeof(float)), cudaFreeHost(x).
LADDER_STEP(Transfer, ladder::Place::pinned, copy_in, copy_out);
