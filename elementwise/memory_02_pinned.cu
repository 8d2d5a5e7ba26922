// Step 01 copies everything twice. Idea: pinned (page-locked) memory, from cudaMallocHost. It stays where it is, so the
// copy engine fetches it by itself; the CPU only gives the order, and cudaMemcpyAsync returns at once.
// Expect: the speed of the link in each direction, one after the other.
// Next question: why not pin everything? (It takes the pages from everybody else, and to pin costs more time than to
// copy once. Pin what is used often: staging buffers. cudaHostRegister pins memory that is there already.)
#include "memory.cuh"

static void bring(const float* x, float* z, std::size_t n) {
  CUDA_CHECK(cudaMemcpyAsync(z, x, n * sizeof(float), cudaMemcpyHostToDevice));
}

static void fetch(const float* z, float* y, std::size_t n) {
  CUDA_CHECK(cudaMemcpyAsync(y, z, n * sizeof(float), cudaMemcpyDeviceToHost));
}

LADDER_STEP(Transfer, ladder::Place::pinned, bring, fetch);
