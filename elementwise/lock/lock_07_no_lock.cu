// Problem:  steps 01 to 06 make each record consistent after every update, but only the final values are needed.
// Idea:     no lock: an atomic for each of the four numbers. Each is right at the end, in any order.
// Expect:   50 to 300x step 03 at m = 4: no thread waits, and L2 executes about one atomic per ns on an address. 2 to
//           10x step 06: the launch and a cold read are half of the time by then.
// Measured: 3.31x step 06, 0.42 of a copy at m=4 (H200); 3.61x, 0.34 (H100).
// Next:     which updates do need a lock? (Those in which one number's new value depends on another's.)
#include "lock.cuh"

constexpr int kBlock = 256;

__global__ void lock_no_lock(const int* __restrict__ x, int* records, std::size_t n, std::size_t m) {
  const std::size_t i = std::size_t{blockIdx.x} * kBlock + threadIdx.x;
  if (i >= n) return;
  const int v = x[i];
  int* const record = records + 4 * record_of(v, m);
  atomicAdd(&record[0], 1);
  atomicAdd(&record[1], v);
  atomicXor(&record[2], v);
  atomicMax(&record[3], v);
}

static void launch(const int* x, int* records, std::size_t n, std::size_t m) {
  if (n == 0) return;
  lock_no_lock<<<ceil_div(n, kBlock), kBlock>>>(x, records, n, m);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Lock, launch);
