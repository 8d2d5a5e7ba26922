// Problem:  step 04 moves x page by page, on faults.
// Idea:     cudaMemPrefetchAsync moves x in one go. Advice keeps y on the host, to be written across the link.
// Expect:   0.5 to 0.6 of the link: 50 GB/s each way, x as from pinned memory, y as in zero copy.
// Measured: 1.95x step 04, 0.25 of the link at 2^26 (H200); 1.94x, 0.29 (H100).
// Why:      x has 48 GB/s, y 17 (H100). Each run gives and withdraws the advice; what that costs was not measured.
// Next:     how do prefetch and advice differ?
// needs: gpu
#include "memory.cuh"

static void prefetch(const void* data, std::size_t bytes, cudaMemLocation to) {
#if CUDART_VERSION >= 13000
  CUDA_CHECK(cudaMemPrefetchAsync(data, bytes, to, 0, nullptr));
#else
  CUDA_CHECK(cudaMemPrefetchAsync_v2(data, bytes, to, 0, nullptr));
#endif
}

static void advise(const void* data, std::size_t bytes, cudaMemoryAdvise advice, cudaMemLocation location) {
#if CUDART_VERSION >= 13000
  CUDA_CHECK(cudaMemAdvise(data, bytes, advice, location));
#else
  CUDA_CHECK(cudaMemAdvise_v2(data, bytes, advice, location));
#endif
}

__global__ void memory_prefetched(const float* __restrict__ from, float* __restrict__ to, float factor, std::size_t n) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) to[i] = factor * from[i];
}

static void scale(const float* from, float* to, float factor, std::size_t n) {
  memory_prefetched<<<ceil_div(n, 256), 256>>>(from, to, factor, n);
  CUDA_CHECK(cudaGetLastError());
}

constexpr cudaMemLocation kHost = {cudaMemLocationTypeHost, 0};
constexpr cudaMemLocation kDevice = {cudaMemLocationTypeDevice, 0};

static void copy_in(const float* x, float* z, std::size_t n) {
  prefetch(x, n * sizeof(float), kDevice);
  scale(x, z, 1.0f, n);
}

// Computes y = factor * from without moving y.
static void write_on_host(const float* from, float* y, float factor, std::size_t n) {
  const std::size_t bytes = n * sizeof(float);
  advise(y, bytes, cudaMemAdviseSetPreferredLocation, kHost);
  advise(y, bytes, cudaMemAdviseSetAccessedBy, kDevice);
  scale(from, y, factor, n);
  CUDA_CHECK(cudaDeviceSynchronize());
  advise(y, bytes, cudaMemAdviseUnsetAccessedBy, kDevice);  // y is the caller's: withdraw the advice
  advise(y, bytes, cudaMemAdviseUnsetPreferredLocation, kHost);
}

static void copy_out(const float* z, float* y, std::size_t n) { write_on_host(z, y, 1.0f, n); }

static void whole(const float* x, float* y, std::size_t n) {
  prefetch(x, n * sizeof(float), kDevice);
  write_on_host(x, y, 2.0f, n);
}

// x and y are managed: cudaMallocManaged(&x, n * sizeof(float)), cudaFree(x).
LADDER_STEP(Transfer, ladder::Place::managed, copy_in, copy_out, whole);
