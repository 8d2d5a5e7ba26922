// Problem:  a library can't keep device memory between calls, and cudaMalloc and cudaFree take longer than a kernel.
// Idea:     cudaMallocAsync takes memory from a pool, as a command of the stream. By default the pool returns unused
//           memory to the system at each synchronisation; the release threshold lets it keep some.
// Expect:   0.55 to 0.58 of the link (H200), 0.60 to 0.63 (H100): step 02's time, though every call allocates.
// Measured: 2.30x step 05, 0.57 of the link at 2^26 (H200); 2.15x, 0.63 (H100).
// Next:     may another stream use z?
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

static void copy_in(const float* x, float* z, std::size_t n) {
  CUDA_CHECK(cudaMemcpyAsync(z, x, n * sizeof(float), cudaMemcpyHostToDevice));
}

static void copy_out(const float* z, float* y, std::size_t n) {
  CUDA_CHECK(cudaMemcpyAsync(y, z, n * sizeof(float), cudaMemcpyDeviceToHost));
}

// x and y are pinned: cudaMallocHost(&x, n * sizeof(float)), cudaFreeHost(x).
LADDER_STEP(Transfer, ladder::Place::pinned, copy_in, copy_out, nullptr, allocate, release);
