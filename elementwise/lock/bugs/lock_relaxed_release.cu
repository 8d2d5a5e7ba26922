// bug: the lock opens with a relaxed store, which may be seen before the record's update
// caught by: cpu-trace | global memory with no fence and atomic between
// not caught by: gpu | the update is rarely late, and racecheck checks only shared memory
// stage: races and barriers
#include "../lock.cuh"

#include <cuda/atomic>

constexpr int kBlock = 256;
constexpr unsigned kShortest = 32, kLongest = 1024;  // ns

__global__ void lock_relaxed_release(const int* __restrict__ x, int* records, unsigned* locks, std::size_t n,
                                     std::size_t m) {
  const std::size_t i = std::size_t{blockIdx.x} * kBlock + threadIdx.x;
  if (i >= n) return;
  const std::size_t record = record_of(x[i], m);

  const cuda::atomic_ref<unsigned, cuda::thread_scope_device> lock(locks[record]);
  for (unsigned ns = kShortest, open = 0; !lock.compare_exchange_weak(open, 1u, cuda::memory_order_acquire); open = 0) {
    __nanosleep(ns);
    ns = min(2 * ns, kLongest);
  }
  apply(records + 4 * record, update_of(x[i]));
  lock.store(0u, cuda::memory_order_relaxed);  // memory_order_release
}

static void launch(const int* x, int* records, std::size_t n, std::size_t m) {
  if (n == 0) return;
  lock_relaxed_release<<<ceil_div(n, kBlock), kBlock>>>(x, records, open_locks(m), n, m);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Lock, launch);
