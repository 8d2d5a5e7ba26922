// bug: __syncwarp() in the critical section: the owner waits for lanes that spin until it opens the lock. It never ends
// caught by: cpu | deadlock
// caught by: gpu | did not end
// stage: launches and ends
#include "../lock.cuh"

constexpr int kBlock = 256;

__global__ void lock_warp_waits(const int* __restrict__ x, int* records, unsigned* locks, std::size_t n,
                                std::size_t m) {
  const std::size_t i = std::size_t{blockIdx.x} * kBlock + threadIdx.x;
  if (i >= n) return;
  const std::size_t record = record_of(x[i], m);

  while (atomicCAS(&locks[record], 0u, 1u) != 0) {
  }
  __threadfence();
  apply(records + 4 * record, update_of(x[i]));
  __syncwarp();  // must not be here
  __threadfence();
  atomicExch(&locks[record], 0u);
}

static void launch(const int* x, int* records, std::size_t n, std::size_t m) {
  if (n == 0) return;
  lock_warp_waits<<<ceil_div(n, kBlock), kBlock>>>(x, records, open_locks(m), n, m);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Lock, launch);
