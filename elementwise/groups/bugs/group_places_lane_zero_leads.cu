// bug: lane 0 of the warp reserves the group's places; if it needs none, it has returned, and no lane reserves them
// caught by: cpu | is wrong
// caught by: gpu | is wrong
// stage: right
#include "../group_places.cuh"

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

namespace cg = cooperative_groups;

constexpr int kBlock = 256;

__global__ void group_places_lane_zero(const int* __restrict__ x, int* __restrict__ even, int* __restrict__ odd,
                                       unsigned long long* counts, std::size_t n) {
  const std::size_t i = std::size_t{blockIdx.x} * kBlock + threadIdx.x;
  if (i >= n) return;
  const int v = x[i];
  const unsigned wanted = places(v);
  if (wanted == 0) return;
  const cg::coalesced_group same = cg::binary_partition(cg::coalesced_threads(), is_odd(v));
  const unsigned before = cg::exclusive_scan(same, wanted, cg::plus<unsigned>());
  const unsigned all = cg::reduce(same, wanted, cg::plus<unsigned>());
  unsigned long long first = 0;
  if (threadIdx.x % 32 == 0) first = atomicAdd(&counts[is_odd(v)], all);  // same.thread_rank() == 0
  int* const to = (is_odd(v) ? odd : even) + same.shfl(first, 0) + before;
  for (unsigned k = 0; k < wanted; ++k) to[k] = v;
}

static void launch(const int* x, int* even, int* odd, std::int64_t* counts, std::size_t n) {
  CUDA_CHECK(cudaMemsetAsync(counts, 0, 2 * sizeof *counts));
  if (n == 0) return;
  auto* const of_kind = reinterpret_cast<unsigned long long*>(counts);
  group_places_lane_zero<<<ceil_div(n, kBlock), kBlock>>>(x, even, odd, of_kind, n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(GroupPlaces, launch);
