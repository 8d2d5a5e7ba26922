// Problem:  a thread needs values that other lanes of its warp hold in registers.
// Idea:     shared memory, for any two threads of a block: store, barrier, load, barrier before the next store.
// Expect:   limited by shared memory and barriers, not by DRAM: 16 rounds of one store, three loads and two barriers.
// Measured: 0.21 of a copy at 2^24 (H200); 0.28 (H100).
// Next:     which threads must wait for each other here?
#include "lanes.cuh"

constexpr int kBlock = 256;

__global__ void lanes_block_barrier(const int* __restrict__ x, int* __restrict__ y, std::size_t n) {
  __shared__ unsigned tile[kBlock];
  const std::size_t i = std::size_t{blockIdx.x} * kBlock + threadIdx.x;
  const unsigned lane = threadIdx.x % kGroup, first = threadIdx.x - lane;
  // elements of this group: 32, or the remainder; threads past the end stay for the barriers
  const std::size_t left = i - lane < n ? n - (i - lane) : 1;
  const unsigned width = static_cast<unsigned>(left < kGroup ? left : kGroup);
  const unsigned next = lane + 1 < width ? lane + 1 : 0, partner = (lane ^ 1) < width ? lane ^ 1 : lane;

  unsigned v = i < n ? static_cast<unsigned>(x[i]) : 0;
  for (int round = 0; round < kRounds; ++round) {
    tile[threadIdx.x] = v;
    __syncthreads();
    v = mix(tile[first + next], tile[first + partner], tile[first]);
    __syncthreads();
  }
  if (i < n) y[i] = static_cast<int>(v);
}

static void launch(const int* x, int* y, std::size_t n) {
  if (n == 0) return;
  lanes_block_barrier<<<ceil_div(n, kBlock), kBlock>>>(x, y, n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Lanes, launch);
