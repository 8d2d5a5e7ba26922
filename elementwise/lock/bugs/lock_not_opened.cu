// bug: a thread that has nothing to do returns from the critical section and leaves the lock closed: all others spin
// caught by: cpu | deadlock
// caught by: gpu | did not end
// stage: launches and ends
#include "../lock.cuh"

constexpr int kBlock = 256;

__global__ void lock_left_closed(const int* __restrict__ x, int* records, unsigned* locks, std::size_t n,
                                 std::size_t m) {
  const std::size_t i = std::size_t{blockIdx.x} * kBlock + threadIdx.x;
  if (i >= n) return;
  const std::size_t record = record_of(x[i], m);

  while (atomicCAS(&locks[record], 0u, 1u) != 0) {
  }
  __threadfence();
  int* const own = records + 4 * record;
  own[0] += 1;
  own[1] = static_cast<int>(static_cast<unsigned>(own[1]) + static_cast<unsigned>(x[i]));
  own[2] ^= x[i];
  if (x[i] <= own[3]) return;  // the lock must be opened on every path
  own[3] = x[i];
  __threadfence();
  atomicExch(&locks[record], 0u);
}

static void launch(const int* x, int* records, std::size_t n, std::size_t m) {
  if (n == 0) return;
  lock_left_closed<<<ceil_div(n, kBlock), kBlock>>>(x, records, open_locks(m), n, m);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Lock, launch);
