// bug: the writer has no fence between data and flag: a reader may see the flag first
// caught by: cpu-trace | global memory with no fence and atomic between
// not caught by: gpu | a flag rarely comes before its data, and racecheck checks only shared memory
// stage: races and barriers
#include "../litmus.cuh"

constexpr int kBlock = 256;

__global__ void litmus_without_fence(const int* __restrict__ x, int* __restrict__ y, int* data, int* flags,
                                     std::size_t n) {
  const std::size_t i = std::size_t{blockIdx.x / 2} * kBlock + threadIdx.x;
  if (i >= n) return;
  if (blockIdx.x % 2 == 0) {
    data[i] = message(x[i]);
    // __threadfence() is needed here
    atomicExch(&flags[i], 1);
  } else {
    const bool seen = atomicAdd(&flags[i], 0) == 1;
    __threadfence();
    y[i] = seen ? data[i] : message(x[i]);
  }
}

static void launch(const int* x, int* y, std::size_t n) {
  if (n == 0) return;
  const auto [data, flags] = empty_mailboxes(n);
  litmus_without_fence<<<2 * ceil_div(n, kBlock), kBlock>>>(x, y, data, flags, n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Litmus, launch);
