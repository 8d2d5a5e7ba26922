// Step 03 moves data each time they are touched. Idea: managed memory. One pointer for host and device, and pages move
// to whoever touches them: on a page fault, 64 KB or more at a time, decided by the driver on the CPU. The kernel is
// the plain one; the result comes home when the host reads it.
// Expect: slow, if everything is used once: thousands of faults, each some tens of microseconds, and while a fault is
// handled its warps wait. y, which the kernel only writes, moves to the device as well, with contents that nobody
// wants.
// Next question: when is it the right choice? (Pointers everywhere, sizes beyond the device's memory, access that
// nobody can predict; or a first port that is to run today.)
// needs: gpu
#include "memory.cuh"

__global__ void memory_managed(const float* __restrict__ from, float* __restrict__ to, float factor, std::size_t n) {
  const std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) to[i] = factor * from[i];
}

static void copy(const float* from, float* to, float factor, std::size_t n) {
  memory_managed<<<static_cast<unsigned>(ceil_div(n, 256)), 256>>>(from, to, factor, n);
  CUDA_CHECK(cudaGetLastError());
}

static void bring(const float* x, float* z, std::size_t n) { copy(x, z, 1.0f, n); }

static void come_home(const float* y, std::size_t n) {
  CUDA_CHECK(cudaDeviceSynchronize());  // not before the kernel is done
  touch_pages(y, n);
}

static void fetch(const float* z, float* y, std::size_t n) {
  copy(z, y, 1.0f, n);
  come_home(y, n);
}

static void whole(const float* x, float* y, std::size_t n) {
  copy(x, y, 2.0f, n);
  come_home(y, n);
}

LADDER_STEP(Transfer, ladder::Place::managed, bring, fetch, whole);
