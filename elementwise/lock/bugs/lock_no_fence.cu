// bug: a mutex of compare-and-swap and exchange without a fence, as it is often printed: the next owner may read the
//      record as it was before the last one's update
// caught by: cpu-trace | global memory with no fence and atomic between
// caught by: gpu | is wrong | --n=65536
// stage: races and barriers
#include "../lock.cuh"

constexpr int kBlock = 256;

__global__ void lock_without_fence(const int* __restrict__ x, int* records, unsigned* locks, std::size_t n,
                                   std::size_t m) {
  const std::size_t i = std::size_t{blockIdx.x} * kBlock + threadIdx.x;
  if (i >= n) return;
  const std::size_t record = record_of(x[i], m);

  for (unsigned ns = 8; atomicCAS(&locks[record], 0u, 1u) != 0; ns = min(2 * ns, 256u)) __nanosleep(ns);
  // __threadfence() is needed here
  apply(records + 4 * record, update_of(x[i]));
  // and here
  atomicExch(&locks[record], 0u);
}

static void launch(const int* x, int* records, std::size_t n, std::size_t m) {
  if (n == 0) return;
  lock_without_fence<<<ceil_div(n, kBlock), kBlock>>>(x, records, open_locks(m), n, m);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Lock, launch);
