// Problem:  step 01 orders all accesses of both threads, with two fences that are sequentially consistent.
// Idea:     the flag's accesses give the order: cuda::atomic_ref with a release store and an acquire load.
// Expect:   1.0 to 1.3x step 01 at 2^24, and 0 readers with the flag and without the data.
// Measured: 1.27x step 01, 0.87 of a copy at 2^24 (H200); 1.30x, 0.99 (H100).
// Next:     would a relaxed store do, if the load acquires? (No: both sides must order.)
#include "litmus.cuh"

#include <cuda/atomic>

constexpr int kBlock = 256;

// Even blocks write, odd blocks read, so that a pair runs at about the same time.
__global__ void litmus_acquire_release(const int* __restrict__ x, int* __restrict__ y, int* data, int* flags,
                                       std::size_t n) {
  const std::size_t i = std::size_t{blockIdx.x / 2} * kBlock + threadIdx.x;
  if (i >= n) return;
  const cuda::atomic_ref<int, cuda::thread_scope_device> flag(flags[i]);
  if (blockIdx.x % 2 == 0) {  // the writer
    data[i] = message(x[i]);
    flag.store(1, cuda::memory_order_release);
  } else {  // the reader
    const bool seen = flag.load(cuda::memory_order_acquire) == 1;
    y[i] = seen ? data[i] : message(x[i]);
  }
}

static void launch(const int* x, int* y, std::size_t n) {
  if (n == 0) return;
  const auto [data, flags] = empty_mailboxes(n);
  litmus_acquire_release<<<2 * ceil_div(n, kBlock), kBlock>>>(x, y, data, flags, n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Litmus, launch);
