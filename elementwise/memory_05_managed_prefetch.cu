// Step 04 learns page by page what we knew all along. Idea: say so. cudaMemPrefetchAsync moves x to the device in one
// go, as a copy would. And advice for y, which is only written: it is to stay at home (preferred location), with the
// device allowed to write to it there (accessed by), across the link and without moving a page.
// Expect: in near the speed of the link, no faults; out near that of zero copy.
// Next question: advice or order? (Prefetch is an order, in stream order. Advice is kept until it is withdrawn, moves
// nothing by itself, and changes what a later fault does.)
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
  const std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) to[i] = factor * from[i];
}

static void copy(const float* from, float* to, float factor, std::size_t n) {
  memory_prefetched<<<static_cast<unsigned>(ceil_div(n, 256)), 256>>>(from, to, factor, n);
  CUDA_CHECK(cudaGetLastError());
}

constexpr cudaMemLocation kHost = {cudaMemLocationTypeHost, 0};
constexpr cudaMemLocation kDevice = {cudaMemLocationTypeDevice, 0};

static void bring(const float* x, float* z, std::size_t n) {
  prefetch(x, n * sizeof(float), kDevice);
  copy(x, z, 1.0f, n);
}

// y = factor * from, without moving y.
static void write_home(const float* from, float* y, float factor, std::size_t n) {
  const std::size_t bytes = n * sizeof(float);
  advise(y, bytes, cudaMemAdviseSetPreferredLocation, kHost);
  advise(y, bytes, cudaMemAdviseSetAccessedBy, kDevice);
  copy(from, y, factor, n);
  CUDA_CHECK(cudaDeviceSynchronize());
  advise(y, bytes, cudaMemAdviseUnsetAccessedBy, kDevice);  // y is the caller's: leave it as it was
  advise(y, bytes, cudaMemAdviseUnsetPreferredLocation, kHost);
}

static void fetch(const float* z, float* y, std::size_t n) { write_home(z, y, 1.0f, n); }

static void whole(const float* x, float* y, std::size_t n) {
  prefetch(x, n * sizeof(float), kDevice);
  write_home(x, y, 2.0f, n);
}

LADDER_STEP(Transfer, ladder::Place::managed, bring, fetch, whole);
