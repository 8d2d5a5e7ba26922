// Problem:  step 02 writes four reductions as one loop, and a reader must work out which distances make which group.
// Idea:     nested tiles: 8 threads of the warp, 4 of those 8. cg::reduce takes a group, a value and an operator: plus,
//           greater, or a lambda. Every thread of the group gets the result.
// Expect:   0.4 to 1.0x step 02 at 2^24. 10 shuffles and one REDUX instead of 13 shuffles, but the masks of 4 or 8
//           lanes differ within a warp, and ptxas checks them first: a MATCH, a REDUX and a branch (SASS).
// Measured: 0.51x step 02, 0.26 of a copy at 2^24 (H200); 0.53x, 0.36 (H100).
// Next:     can a tile have 256 threads?
#include "group_sums.cuh"

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

namespace cg = cooperative_groups;

__global__ void group_sums_reduce(const int* __restrict__ x, int* __restrict__ y, std::size_t n) {
  __shared__ unsigned of_warp[kBlock / 32];
  const cg::thread_block block = cg::this_thread_block();
  const auto warp = cg::tiled_partition<32>(block);
  const auto eight = cg::tiled_partition<8>(warp);
  const auto quad = cg::tiled_partition<4>(eight);
  const std::size_t i = std::size_t{blockIdx.x} * kBlock + block.thread_rank();
  const unsigned v = i < n ? static_cast<unsigned>(x[i]) : 0;  // threads past the end stay for the reductions

  const unsigned four = cg::reduce(quad, v, cg::plus<unsigned>());
  const unsigned greatest = cg::reduce(eight, v, cg::greater<unsigned>());
  const unsigned low = cg::reduce(warp, low_half(v), [](unsigned a, unsigned b) { return saturating_sum(a, b); });
  unsigned all = cg::reduce(warp, v, cg::plus<unsigned>());
  // combine the warps
  if (warp.thread_rank() == 0) of_warp[warp.meta_group_rank()] = all;
  block.sync();
  all = 0;
  for (int w = 0; w < kBlock / 32; ++w) all += of_warp[w];
  if (i < n) y[i] = mix(four, greatest, low, all);
}

static void launch(const int* x, int* y, std::size_t n) {
  if (n == 0) return;
  group_sums_reduce<<<ceil_div(n, kBlock), kBlock>>>(x, y, n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(GroupSums, launch);
