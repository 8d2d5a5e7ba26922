// bug: threads past the end return before reductions of tiles that contain them: a tile includes all its threads,
//      whether they have an element or not
// caught by: cpu | is wrong
// caught by: gpu | is wrong
// stage: right
#include "../group_sums.cuh"

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

namespace cg = cooperative_groups;

__global__ void group_sums_return(const int* __restrict__ x, int* __restrict__ y, std::size_t n) {
  __shared__ unsigned of_warp[kBlock / 32];
  const cg::thread_block block = cg::this_thread_block();
  const auto warp = cg::tiled_partition<32>(block);
  const auto eight = cg::tiled_partition<8>(warp);
  const auto quad = cg::tiled_partition<4>(eight);
  const std::size_t i = std::size_t{blockIdx.x} * kBlock + block.thread_rank();
  if (i >= n) return;  // they must stay, with a value that changes nothing
  const unsigned v = static_cast<unsigned>(x[i]);

  const unsigned four = cg::reduce(quad, v, cg::plus<unsigned>());
  const unsigned greatest = cg::reduce(eight, v, cg::greater<unsigned>());
  const unsigned low = cg::reduce(warp, low_half(v), [](unsigned a, unsigned b) { return saturating_sum(a, b); });
  unsigned all = cg::reduce(warp, v, cg::plus<unsigned>());
  if (warp.thread_rank() == 0) of_warp[warp.meta_group_rank()] = all;
  block.sync();
  all = 0;
  for (std::size_t w = 0; w < kBlock / 32 && (i - block.thread_rank()) + 32 * w < n; ++w) all += of_warp[w];
  y[i] = mix(four, greatest, low, all);
}

static void launch(const int* x, int* y, std::size_t n) {
  if (n == 0) return;
  group_sums_return<<<ceil_div(n, kBlock), kBlock>>>(x, y, n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(GroupSums, launch);
