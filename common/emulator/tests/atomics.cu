// cuda::atomic and cuda::atomic_ref: their operations, and threads that use them to wait for each other.
#include "support.cuh"

#include <cuda/atomic>
#include <cuda/std/limits>

#include <limits>

namespace {

constexpr int kBlocks = 6, kThreads = 96, kAll = kBlocks * kThreads;

using Counter = cuda::atomic<int, cuda::thread_scope_device>;

struct Results {
  int sum, product_of_bits, low, high, bits, flipped, left, last;
  float float_sum, float_high;
};

__device__ Counter tickets{0};

__global__ void count(Results* results, unsigned char* drawn) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  cuda::atomic_ref<int, cuda::thread_scope_device>(results->sum).fetch_add(i, cuda::memory_order_relaxed);
  cuda::atomic_ref<int>(results->low).fetch_min(i);
  cuda::atomic_ref<int>(results->high).fetch_max(i);
  cuda::atomic_ref<int>(results->bits).fetch_or(1 << i % 20);
  cuda::atomic_ref<int>(results->product_of_bits).fetch_and(~(1 << i % 20));
  cuda::atomic_ref<int>(results->flipped) ^= i;
  cuda::atomic_ref<int>(results->left) -= 1;
  cuda::atomic_ref<int>(results->last).store(7, cuda::std::memory_order_release);
  cuda::atomic_ref<float>(results->float_sum) += 0.5f;
  cuda::atomic_ref<float>(results->float_high).fetch_max(static_cast<float>(i));
  drawn[tickets++] = 1;
}

// Each thread multiplies the value by 3, in any order.
__global__ void compare_and_exchange(unsigned* value, cuda::atomic<unsigned long long>* wide) {
  cuda::atomic_ref<unsigned, cuda::thread_scope_device> v(*value);
  unsigned seen = v.load(cuda::memory_order_relaxed);
  while (!v.compare_exchange_weak(seen, seen * 3, cuda::memory_order_acq_rel, cuda::memory_order_relaxed)) {
  }
  unsigned long long old = *wide;
  while (!wide->compare_exchange_strong(old, old + (1ull << 32))) {
  }
}

// A lock, and the values that it protects.
__global__ void guarded(int* lock, int* values) {
  cuda::atomic_ref<int, cuda::thread_scope_device> taken(*lock);
  if (threadIdx.x % 32 != 0) return;
  while (taken.exchange(1, cuda::memory_order_acquire) != 0) {
  }
  values[1] = values[0] + 1;
  values[0] = values[1];
  taken.store(0, cuda::memory_order_release);
}

// Each block waits for the previous one.
__global__ void chain(int* data, Counter* flags) {
  const int b = blockIdx.x;
  if (threadIdx.x == 0) {
    int before = 0;
    if (b > 0) {
      while (flags[b - 1].load(cuda::memory_order_acquire) == 0)
        ;
      before = data[b - 1];
    }
    data[b] = before + b + 1;
    flags[b].store(1, cuda::memory_order_release);
  }
}

// The threads of a block wait for the last one, on a flag in shared memory.
__global__ void in_a_block(int* out) {
  __shared__ cuda::atomic<int, cuda::thread_scope_block> arrived;
  __shared__ int from_last;
  if (threadIdx.x == 0) arrived = 0;
  __syncthreads();
  if (threadIdx.x == blockDim.x - 1) {
    from_last = 42;
    cuda::atomic_thread_fence(cuda::memory_order_release, cuda::thread_scope_block);
    arrived.store(1, cuda::memory_order_relaxed);
  } else if (threadIdx.x % 32 == 0) {
    while (arrived.load(cuda::memory_order_acquire) == 0) {
    }
  }
  __syncthreads();
  out[threadIdx.x] = from_last + arrived;
}

__global__ void limits(float* out) {
  out[0] = cuda::std::numeric_limits<float>::max();
  out[1] = -cuda::std::numeric_limits<float>::infinity();
}

}  // namespace

TEST_CASE("operations of cuda::atomic and cuda::atomic_ref") {
  Results start{};
  start.low = kAll;
  start.product_of_bits = -1;
  start.left = kAll;
  DeviceVector<Results> results(1, start);
  DeviceVector<unsigned char> drawn(kAll);
  count<<<kBlocks, kThreads>>>(results.data(), drawn.data());
  const Results got = results.get()[0];
  CHECK(got.sum == kAll * (kAll - 1) / 2);
  CHECK(got.low == 0);
  CHECK(got.high == kAll - 1);
  CHECK(got.bits == (1 << 20) - 1);
  CHECK(got.product_of_bits == ~((1 << 20) - 1));
  int flipped = 0;
  for (int i = 0; i < kAll; ++i) flipped ^= i;
  CHECK(got.flipped == flipped);
  CHECK(got.left == 0);
  CHECK(got.last == 7);
  CHECK(got.float_sum == kAll * 0.5f);
  CHECK(got.float_high == kAll - 1);
  CHECK(drawn.get() == std::vector<unsigned char>(kAll, 1));
}

TEST_CASE("compare and exchange, a lock") {
  DeviceVector<unsigned> value(1, 1u);
  DeviceVector<unsigned long long> wide(1, 5ull);
  compare_and_exchange<<<kBlocks, kThreads>>>(value.data(),
                                              reinterpret_cast<cuda::atomic<unsigned long long>*>(wide.data()));
  unsigned expected = 1;
  for (int i = 0; i < kAll; ++i) expected *= 3;
  CHECK(value.get()[0] == expected);
  CHECK(wide.get()[0] == 5 + (static_cast<unsigned long long>(kAll) << 32));

  DeviceVector<int> lock(1), values(2);
  guarded<<<kBlocks, kThreads>>>(lock.data(), values.data());
  const int warps = kAll / 32;
  CHECK(values.get() == std::vector<int>{warps, warps});
}

TEST_CASE("blocks and threads that wait by an atomic flag") {
  DeviceVector<int> data(kBlocks), flags(kBlocks), out(kThreads);
  chain<<<kBlocks, 32>>>(data.data(), reinterpret_cast<Counter*>(flags.data()));
  const auto sums = data.get();
  for (int b = 0; b < kBlocks; ++b) CHECK(sums[b] == (b + 1) * (b + 2) / 2);
  in_a_block<<<1, kThreads>>>(out.data());
  CHECK(out.get() == std::vector<int>(kThreads, 43));
}

TEST_CASE("cuda::std in a kernel") {
  DeviceVector<float> out(2);
  limits<<<1, 1>>>(out.data());
  CHECK(out.get()[0] == std::numeric_limits<float>::max());
  CHECK(out.get()[1] == -std::numeric_limits<float>::infinity());
}
