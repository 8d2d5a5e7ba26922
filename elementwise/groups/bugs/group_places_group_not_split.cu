// bug: one leader reserves the places of all coalesced threads in its own buffer, though they need places in two
// caught by: cpu | is wrong
// caught by: gpu | is wrong
// stage: right
#include "../group_places.cuh"

#include <cooperative_groups.h>
#include <cooperative_groups/scan.h>

namespace cg = cooperative_groups;

constexpr int kBlock = 256;

__global__ void group_places_not_split(const int* __restrict__ x, int* __restrict__ even, int* __restrict__ odd,
                                       unsigned long long* counts, std::size_t n) {
  const std::size_t i = std::size_t{blockIdx.x} * kBlock + threadIdx.x;
  if (i >= n) return;
  const int v = x[i];
  const unsigned wanted = places(v);
  if (wanted == 0) return;
  const cg::coalesced_group same = cg::coalesced_threads();  // binary_partition(coalesced_threads(), is_odd(v))
  const unsigned end = cg::inclusive_scan(same, wanted, cg::plus<unsigned>()), last = same.num_threads() - 1;
  unsigned long long first = 0;
  if (same.thread_rank() == last) first = atomicAdd(&counts[is_odd(v)], end);
  int* const to = (is_odd(v) ? odd : even) + same.shfl(first, last) + (end - wanted);
  for (unsigned k = 0; k < wanted; ++k) to[k] = v;
}

static void launch(const int* x, int* even, int* odd, std::int64_t* counts, std::size_t n) {
  CUDA_CHECK(cudaMemsetAsync(counts, 0, 2 * sizeof *counts));
  if (n == 0) return;
  auto* const of_kind = reinterpret_cast<unsigned long long*>(counts);
  group_places_not_split<<<ceil_div(n, kBlock), kBlock>>>(x, even, odd, of_kind, n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(GroupPlaces, launch);
