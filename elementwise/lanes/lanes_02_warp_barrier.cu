// Problem:  each barrier of step 01 stops eight warps, and no warp needs another one's values.
// Idea:     __syncwarp(), a barrier of one warp. It also orders memory accesses: since Volta, lanes may diverge.
// Expect:   1.1 to 1.5x step 01: as many wavefronts in shared memory, but no warp waits for the slowest of eight.
// Measured: 1.21x step 01, 0.26 of a copy at 2^24 (H200); 1.22x, 0.34 (H100).
// Next:     must the values go through memory at all?
#include "lanes.cuh"

constexpr int kBlock = 256;

__global__ void lanes_warp_barrier(const int* __restrict__ x, int* __restrict__ y, std::size_t n) {
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
    __syncwarp();
    v = mix(tile[first + next], tile[first + partner], tile[first]);
    __syncwarp();
  }
  if (i < n) y[i] = static_cast<int>(v);
}

static void launch(const int* x, int* y, std::size_t n) {
  if (n == 0) return;
  lanes_warp_barrier<<<ceil_div(n, kBlock), kBlock>>>(x, y, n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Lanes, launch);
