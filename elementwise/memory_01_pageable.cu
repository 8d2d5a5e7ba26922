// The first answer: memory as malloc gives it, cudaMalloc on the other side, cudaMemcpy in both directions. The
// operating system may move or swap out pageable memory at any time, and the copy engine knows only physical addresses;
// so the driver copies piece by piece through pinned memory of its own, with the CPU.
// Expect: a fifth of what the link can do. Both ways the data go through the CPU once more than they need to.
// Next question: when does cudaMemcpy from pageable memory return? (When x may be overwritten, which for a copy to the
// device can be before it has arrived there; a copy to the host is complete. cudaMemcpyAsync is hardly more
// asynchronous.)
#include "memory.cuh"

static void bring(const float* x, float* z, std::size_t n) {
  CUDA_CHECK(cudaMemcpy(z, x, n * sizeof(float), cudaMemcpyHostToDevice));
}

static void fetch(const float* z, float* y, std::size_t n) {
  CUDA_CHECK(cudaMemcpy(y, z, n * sizeof(float), cudaMemcpyDeviceToHost));
}

LADDER_STEP(Transfer, ladder::Place::pageable, bring, fetch);
