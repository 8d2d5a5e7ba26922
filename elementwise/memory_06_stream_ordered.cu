// All steps so far keep their device memory for ever. A library cannot; but cudaMalloc and cudaFree for each call cost
// more than many kernels, and cudaFree waits for the whole device. Idea: stream-ordered allocation. cudaMallocAsync
// takes from a pool what was given back by cudaFreeAsync, in the order of the stream, without waiting for anybody. By
// default the pool returns all it has to the system at each synchronisation; the release threshold makes it keep its
// memory.
// Expect: the time of step 02, though every call allocates.
// Next question: may another stream use z? (Only if it is made to wait, by an event, for the allocation; and the free
// for it.)
// needs: gpu
#include "memory.cuh"

#include <cstdint>

static float* allocate(std::size_t n) {
  static const bool keeps_memory = [] {
    cudaMemPool_t pool;
    CUDA_CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
    std::uint64_t threshold = UINT64_MAX;
    CUDA_CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
    return true;
  }();
  static_cast<void>(keeps_memory);
  float* z = nullptr;
  CUDA_CHECK(cudaMallocAsync(&z, n * sizeof(float), nullptr));
  return z;
}

static void release(float* z) { CUDA_CHECK(cudaFreeAsync(z, nullptr)); }

static void bring(const float* x, float* z, std::size_t n) {
  CUDA_CHECK(cudaMemcpyAsync(z, x, n * sizeof(float), cudaMemcpyHostToDevice));
}

static void fetch(const float* z, float* y, std::size_t n) {
  CUDA_CHECK(cudaMemcpyAsync(y, z, n * sizeof(float), cudaMemcpyDeviceToHost));
}

LADDER_STEP(Transfer, ladder::Place::pinned, bring, fetch, nullptr, allocate, release);
