// Problem:  the data are in host memory, as malloc returns it, and the result must be there too.
// Idea:     cudaMalloc, and cudaMemcpy in both directions. The copy engine needs physical addresses that don't change,
//           so the driver copies through a pinned buffer of its own.
// Expect:   0.1 to 0.2 of the link: the CPU copies everything once more.
// Measured: 0.08 of the link at 2^26 (H200); 0.12 (H100).
// Why:      the host's CPU copies, and hosts differ: 7, 10 and 13 GB/s on three.
// Next:     when does cudaMemcpy from pageable memory return?
#include "memory.cuh"

static void copy_in(const float* x, float* z, std::size_t n) {
  CUDA_CHECK(cudaMemcpy(z, x, n * sizeof(float), cudaMemcpyHostToDevice));
}

static void copy_out(const float* z, float* y, std::size_t n) {
  CUDA_CHECK(cudaMemcpy(y, z, n * sizeof(float), cudaMemcpyDeviceToHost));
}

// x and y are pageable: x = malloc(n * sizeof(float)), free(x).
LADDER_STEP(Transfer, ladder::Place::pageable, copy_in, copy_out);
