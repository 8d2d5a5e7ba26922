// Problem:  stores of one thread may become visible to another in any order: two addresses, two slices of L2.
// Idea:     __threadfence() between the writer's stores, and between the reader's loads. A reader that sees the flag
//           and then fences sees all that the writer wrote or saw before its fence. The flag is accessed by atomics.
// Expect:   0 readers with the flag and without the data. With either fence missing they are allowed, but rare.
// Measured: 0.68 of a copy at 2^24 (H200); 0.76 (H100).
// Next:     the fence orders all of the thread's accesses. Which order does the message need?
#include "litmus.cuh"

constexpr int kBlock = 256;

// Even blocks write, odd blocks read, so that a pair runs at about the same time.
__global__ void litmus_fence(const int* __restrict__ x, int* __restrict__ y, int* data, int* flags, std::size_t n) {
  const std::size_t i = std::size_t{blockIdx.x / 2} * kBlock + threadIdx.x;
  if (i >= n) return;
  if (blockIdx.x % 2 == 0) {  // the writer
    data[i] = message(x[i]);
    __threadfence();
    atomicExch(&flags[i], 1);
  } else {  // the reader
    const bool seen = atomicAdd(&flags[i], 0) == 1;
    __threadfence();
    y[i] = seen ? data[i] : message(x[i]);
  }
}

static void launch(const int* x, int* y, std::size_t n) {
  if (n == 0) return;
  const auto [data, flags] = empty_mailboxes(n);
  litmus_fence<<<2 * ceil_div(n, kBlock), kBlock>>>(x, y, data, flags, n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Litmus, launch);
