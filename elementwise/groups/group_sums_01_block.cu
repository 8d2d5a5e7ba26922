// Problem:  threads of groups of 4, 8, 32 and 256 need each other's values, and a barrier always stops the whole block.
// Idea:     a cooperative group is an object with a rank, a size and sync(); thread_block is the largest one in a
//           block. A butterfly through shared memory: in each round a thread takes its partner's value.
// Expect:   0.2 to 0.5 of a copy at 2^24: 16 exchanges, each one store, one load and two barriers of eight warps.
// Measured: 0.26 of a copy at 2^24 (H200); 0.35 (H100).
// Next:     which of these exchanges cross a warp?
#include "group_sums.cuh"

#include <cooperative_groups.h>

namespace cg = cooperative_groups;

__global__ void group_sums_block(const int* __restrict__ x, int* __restrict__ y, std::size_t n) {
  __shared__ unsigned values[kBlock];
  const cg::thread_block block = cg::this_thread_block();
  const unsigned rank = block.thread_rank();
  // returns the partner's v; all threads of the block must call it
  const auto from = [&](unsigned distance, unsigned v) {
    values[rank] = v;
    block.sync();
    const unsigned of_partner = values[rank ^ distance];
    block.sync();
    return of_partner;
  };
  const std::size_t i = std::size_t{blockIdx.x} * kBlock + rank;
  const unsigned v = i < n ? static_cast<unsigned>(x[i]) : 0;  // threads past the end stay for the barriers

  unsigned four = 0, greatest = v, low = low_half(v), all = v;
  for (unsigned distance = 1; distance < kBlock; distance *= 2) {
    all += from(distance, all);
    if (distance == 2) four = all;
    if (distance < 8) greatest = max(greatest, from(distance, greatest));
    if (distance < 32) low = saturating_sum(low, from(distance, low));
  }
  if (i < n) y[i] = mix(four, greatest, low, all);
}

static void launch(const int* x, int* y, std::size_t n) {
  if (n == 0) return;
  group_sums_block<<<ceil_div(n, kBlock), kBlock>>>(x, y, n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(GroupSums, launch);
