// Problem:  step 01 has an atomic for each thread that needs places.
// Idea:     the lanes that need places are a coalesced group; labeled_partition splits it by buffer. In each part an
//           inclusive scan gives the end of a thread's places. The last thread's end is the sum: one atomic for all.
// Expect:   5 to 20x step 01 at 2^24: two atomics per warp instead of 24. The scan of a coalesced group is slower than
//           that of a tile, because each round must find the lane before.
// Measured: 12.4x step 01, 0.10 of a copy at 2^24 (H200); 12.3x, 0.14 (H100).
// Next:     there are only two labels. What is cheaper than a match?
#include "group_places.cuh"

#include <cooperative_groups.h>
#include <cooperative_groups/scan.h>

namespace cg = cooperative_groups;

constexpr int kBlock = 256;

__global__ void group_places_labeled(const int* __restrict__ x, int* __restrict__ even, int* __restrict__ odd,
                                     unsigned long long* counts, std::size_t n) {
  const std::size_t i = std::size_t{blockIdx.x} * kBlock + threadIdx.x;
  if (i >= n) return;
  const int v = x[i];
  const unsigned wanted = places(v);
  if (wanted == 0) return;
  const cg::coalesced_group asking = cg::coalesced_threads();  // the lanes that need places
  const cg::coalesced_group same = cg::labeled_partition(asking, static_cast<int>(is_odd(v)));
  const unsigned end = cg::inclusive_scan(same, wanted, cg::plus<unsigned>()), last = same.num_threads() - 1;
  unsigned long long first = 0;
  if (same.thread_rank() == last) first = atomicAdd(&counts[is_odd(v)], end);
  int* const to = (is_odd(v) ? odd : even) + same.shfl(first, last) + (end - wanted);
  for (unsigned k = 0; k < wanted; ++k) to[k] = v;
}

static void launch(const int* x, int* even, int* odd, std::int64_t* counts, std::size_t n) {
  CUDA_CHECK(cudaMemsetAsync(counts, 0, 2 * sizeof *counts));
  if (n == 0) return;
  group_places_labeled<<<ceil_div(n, kBlock), kBlock>>>(x, even, odd, reinterpret_cast<unsigned long long*>(counts), n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(GroupPlaces, launch);
