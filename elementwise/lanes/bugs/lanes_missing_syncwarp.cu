// bug: no __syncwarp() between a round's store and its loads, on the belief that a warp runs in lockstep
// caught by: cpu | is wrong
// caught by: cpu-trace | shared memory with no barrier between
// caught by: gpu racecheck | hazard | --n=33
// stage: right
#include "../lanes.cuh"

constexpr int kBlock = 256;

__global__ void lanes_no_syncwarp(const int* __restrict__ x, int* __restrict__ y, std::size_t n) {
  __shared__ unsigned tile[kBlock];
  const std::size_t i = std::size_t{blockIdx.x} * kBlock + threadIdx.x;
  const unsigned lane = threadIdx.x % kGroup, first = threadIdx.x - lane;
  const std::size_t left = i - lane < n ? n - (i - lane) : 1;
  const unsigned width = static_cast<unsigned>(left < kGroup ? left : kGroup);
  const unsigned next = lane + 1 < width ? lane + 1 : 0, partner = (lane ^ 1) < width ? lane ^ 1 : lane;

  unsigned v = i < n ? static_cast<unsigned>(x[i]) : 0;
  for (int round = 0; round < kRounds; ++round) {
    tile[threadIdx.x] = v;
    // __syncwarp() is needed here
    v = mix(tile[first + next], tile[first + partner], tile[first]);
    __syncwarp();
  }
  if (i < n) y[i] = static_cast<int>(v);
}

static void launch(const int* x, int* y, std::size_t n) {
  if (n == 0) return;
  lanes_no_syncwarp<<<ceil_div(n, kBlock), kBlock>>>(x, y, n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Lanes, launch);
