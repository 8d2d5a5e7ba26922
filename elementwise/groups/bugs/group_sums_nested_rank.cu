// bug: the sums of the warps' parts are stored by meta_group_rank() of a nested tile, which counts within its parent,
//      not within the block: all warps write the same four elements
// caught by: cpu | is wrong
// caught by: cpu-trace | shared memory with no barrier between
// caught by: gpu | is wrong
// stage: right
#include "../group_sums.cuh"

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

namespace cg = cooperative_groups;

__global__ void group_sums_nested(const int* __restrict__ x, int* __restrict__ y, std::size_t n) {
  __shared__ unsigned of_eight[kBlock / 8];
  const cg::thread_block block = cg::this_thread_block();
  const auto warp = cg::tiled_partition<32>(block);
  const auto eight = cg::tiled_partition<8>(warp);
  const auto quad = cg::tiled_partition<4>(eight);
  const std::size_t i = std::size_t{blockIdx.x} * kBlock + block.thread_rank();
  const unsigned v = i < n ? static_cast<unsigned>(x[i]) : 0;
  of_eight[block.thread_rank() % (kBlock / 8)] = 0;
  block.sync();

  const unsigned four = cg::reduce(quad, v, cg::plus<unsigned>());
  const unsigned greatest = cg::reduce(eight, v, cg::greater<unsigned>());
  const unsigned low = cg::reduce(warp, low_half(v), [](unsigned a, unsigned b) { return saturating_sum(a, b); });
  unsigned all = cg::reduce(eight, v, cg::plus<unsigned>());
  // of the warp's four: warp.meta_group_rank() * 4 must be added
  if (eight.thread_rank() == 0) of_eight[eight.meta_group_rank()] = all;
  block.sync();
  all = 0;
  for (int e = 0; e < kBlock / 8; ++e) all += of_eight[e];
  if (i < n) y[i] = mix(four, greatest, low, all);
}

static void launch(const int* x, int* y, std::size_t n) {
  if (n == 0) return;
  group_sums_nested<<<ceil_div(n, kBlock), kBlock>>>(x, y, n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(GroupSums, launch);
