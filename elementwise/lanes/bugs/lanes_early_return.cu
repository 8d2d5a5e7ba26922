// bug: threads past the end return before shuffles whose mask names them, and lanes read from them
// caught by: cpu | is wrong
// caught by: gpu | is wrong
// stage: races and barriers
#include "../lanes.cuh"

constexpr int kBlock = 256;
constexpr unsigned kAll = 0xffffffff;

__global__ void lanes_return_early(const int* __restrict__ x, int* __restrict__ y, std::size_t n) {
  const std::size_t i = std::size_t{blockIdx.x} * kBlock + threadIdx.x;
  if (i >= n) return;  // they must stay, or the mask and the sources must leave them out
  const unsigned lane = threadIdx.x % kGroup, next = (lane + 1) % kGroup;
  unsigned v = static_cast<unsigned>(x[i]);
  for (int round = 0; round < kRounds; ++round) {
    v = mix(__shfl_sync(kAll, v, next), __shfl_xor_sync(kAll, v, 1), __shfl_sync(kAll, v, 0));
  }
  y[i] = static_cast<int>(v);
}

static void launch(const int* x, int* y, std::size_t n) {
  if (n == 0) return;
  lanes_return_early<<<ceil_div(n, kBlock), kBlock>>>(x, y, n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Lanes, launch);
