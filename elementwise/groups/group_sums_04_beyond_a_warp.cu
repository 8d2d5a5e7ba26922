// Problem:  the sum over 256 threads is the only one that step 03 combines by hand.
// Idea:     a tile of 256. Its warps exchange sums in shared memory. Before sm_80 the kernel must provide it, as
//           block_tile_memory, passed to this_thread_block(). All threads must call that and tiled_partition().
// Expect:   0.6 to 0.9x step 03 at 2^24: the same sums of warps, a third check of masks (of 8 lanes), and a barrier
//           that the library builds from atomics and fences in memory.
// Measured: 0.70x step 03, 0.18 of a copy at 2^24 (H200); 0.70x, 0.25 (H100).
// Next:     when does a tile of 128 beat two barriers of a block of 256?
#include "group_sums.cuh"

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

namespace cg = cooperative_groups;

__global__ void group_sums_beyond_a_warp(const int* __restrict__ x, int* __restrict__ y, std::size_t n) {
  __shared__ cg::block_tile_memory<kBlock> memory;
  const cg::thread_block block = cg::this_thread_block(memory);
  const auto whole = cg::tiled_partition<kBlock>(block);
  const auto warp = cg::tiled_partition<32>(block);
  const auto eight = cg::tiled_partition<8>(warp);
  const auto quad = cg::tiled_partition<4>(eight);
  const std::size_t i = std::size_t{blockIdx.x} * kBlock + block.thread_rank();
  const unsigned v = i < n ? static_cast<unsigned>(x[i]) : 0;  // threads past the end stay for the reductions

  const unsigned four = cg::reduce(quad, v, cg::plus<unsigned>());
  const unsigned greatest = cg::reduce(eight, v, cg::greater<unsigned>());
  const unsigned low = cg::reduce(warp, low_half(v), [](unsigned a, unsigned b) { return saturating_sum(a, b); });
  const unsigned all = cg::reduce(whole, v, cg::plus<unsigned>());
  if (i < n) y[i] = mix(four, greatest, low, all);
}

static void launch(const int* x, int* y, std::size_t n) {
  if (n == 0) return;
  group_sums_beyond_a_warp<<<ceil_div(n, kBlock), kBlock>>>(x, y, n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(GroupSums, launch);
