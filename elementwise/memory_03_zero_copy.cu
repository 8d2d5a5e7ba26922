// Step 02 uses the link one way at a time, and waits for all of the input before it computes. Idea: zero copy. Pinned
// memory is visible from the device; a kernel reads x across the link and writes y back across it, without memory of
// its own. What comes in and what goes out share the time.
// Expect: less time than step 02, as long as both directions overlap; each way less than a copy engine reaches, for a
// warp's 128 bytes are a small packet. It pays for data that are used once, or little of which is used.
// Next question: and a kernel that reads x three times? (Count on three transfers: the Best Practices Guide says that
// mapped memory is not cached on the GPU.)
#include "memory.cuh"

__global__ void memory_zero_copy(const float* __restrict__ from, float* __restrict__ to, float factor, std::size_t n) {
  const std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) to[i] = factor * from[i];
}

static void copy(const float* from, float* to, float factor, std::size_t n) {
  memory_zero_copy<<<static_cast<unsigned>(ceil_div(n, 256)), 256>>>(from, to, factor, n);
  CUDA_CHECK(cudaGetLastError());
}

// Where addresses are unified (64-bit systems), this is the host's pointer itself.
static const float* device_pointer(const float* host) {
  void* device = nullptr;
  CUDA_CHECK(cudaHostGetDevicePointer(&device, const_cast<float*>(host), 0));
  return static_cast<const float*>(device);
}

static void bring(const float* x, float* z, std::size_t n) { copy(device_pointer(x), z, 1.0f, n); }

static void fetch(const float* z, float* y, std::size_t n) { copy(z, const_cast<float*>(device_pointer(y)), 1.0f, n); }

static void whole(const float* x, float* y, std::size_t n) {
  copy(device_pointer(x), const_cast<float*>(device_pointer(y)), 2.0f, n);
}

LADDER_STEP(Transfer, ladder::Place::pinned, bring, fetch, whole);
