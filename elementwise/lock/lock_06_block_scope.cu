// Problem:  in step 05 each warp still takes locks in L2, one for each record that it updates.
// Idea:     a block keeps records of its own in shared memory, with locks of block scope, and merges them at its end
//           under the device's locks. Records that don't fit are updated as in step 03.
// Expect:   2 to 8x step 05 at m = 4: 4 locks per block remain in L2, but before that a block's 256 updates are four
//           chains of 64 in shared memory. 2 to 5x at m = 64, where its 16 blocks still take about 1,000 locks in L2.
// Measured: 6.42x step 05, 0.13 of a copy at m=4 (H200); 6.67x, 0.10 (H100).
// Next:     does this problem need a lock at all?
#include "lock.cuh"

#include <cuda/atomic>

constexpr int kBlock = 256, kPrivate = 256;  // kPrivate: records per block
constexpr unsigned kShortest = 32;           // ns
constexpr int kLeast = -2147483647 - 1;

template <cuda::thread_scope Scope>
__device__ void locked_apply(unsigned& word, int* record, const Update& update) {
  constexpr unsigned longest = Scope == cuda::thread_scope_block ? kShortest : 1024;  // an attempt disturbs one SM only
  const cuda::atomic_ref<unsigned, Scope> lock(word);
  for (unsigned ns = kShortest, open = 0; !lock.compare_exchange_weak(open, 1u, cuda::memory_order_acquire); open = 0) {
    __nanosleep(ns);
    ns = min(2 * ns, longest);
  }
  apply(record, update);
  lock.store(0u, cuda::memory_order_release);
}

__global__ void lock_block_scope(const int* __restrict__ x, int* records, unsigned* locks, std::size_t n,
                                 std::size_t m) {
  __shared__ unsigned own_locks[kPrivate];
  __shared__ int own[kPrivate][4];
  const int k = threadIdx.x;
  if (k < kPrivate) {
    own_locks[k] = 0;
    own[k][0] = own[k][1] = own[k][2] = 0;
    own[k][3] = kLeast;
  }
  __syncthreads();

  const std::size_t i = std::size_t{blockIdx.x} * kBlock + k;
  if (i < n) {
    const std::size_t record = record_of(x[i], m);
    if (record < kPrivate) {
      locked_apply<cuda::thread_scope_block>(own_locks[record], own[record], update_of(x[i]));
    } else {
      locked_apply<cuda::thread_scope_device>(locks[record], records + 4 * record, update_of(x[i]));
    }
  }
  __syncthreads();
  if (k < kPrivate && own[k][0] > 0) {
    const Update all = {own[k][0], own[k][1], own[k][2], own[k][3]};
    locked_apply<cuda::thread_scope_device>(locks[k], records + 4 * k, all);
  }
}

static void launch(const int* x, int* records, std::size_t n, std::size_t m) {
  static_assert(kPrivate <= kBlock, "a thread for each private record");
  if (n == 0) return;
  lock_block_scope<<<ceil_div(n, kBlock), kBlock>>>(x, records, open_locks(m), n, m);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Lock, launch);
