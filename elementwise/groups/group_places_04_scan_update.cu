// Problem:  step 03 writes out what every allocator does: scan, one atomic, shuffle, add.
// Idea:     exclusive_scan_update does it in one call: a scan of the group that begins at an atomic's value, and adds
//           the group's sum to it. The atomic is a cuda::atomic_ref of the counter.
// Expect:   0.9 to 1.0x step 03 at 2^24: the same atomics; the values scanned have 64 bits now, two shuffles each.
// Measured: 0.98x step 03, 0.10 of a copy at 2^24 (H200); 0.98x, 0.13 (H100).
// Next:     could one scan serve both buffers?
#include "group_places.cuh"

#include <cooperative_groups.h>
#include <cuda/atomic>

#include <cooperative_groups/scan.h>  // after <cuda/atomic>, without which it has no scan_update

namespace cg = cooperative_groups;

constexpr int kBlock = 256;

__global__ void group_places_scan_update(const int* __restrict__ x, int* __restrict__ even, int* __restrict__ odd,
                                         unsigned long long* counts, std::size_t n) {
  const std::size_t i = std::size_t{blockIdx.x} * kBlock + threadIdx.x;
  if (i >= n) return;
  const int v = x[i];
  const unsigned long long wanted = places(v);
  if (wanted == 0) return;
  const cg::coalesced_group asking = cg::coalesced_threads();  // the lanes that need places
  const cg::coalesced_group same = cg::binary_partition(asking, is_odd(v));
  cuda::atomic_ref<unsigned long long, cuda::thread_scope_device> count(counts[is_odd(v)]);
  int* const to =
      (is_odd(v) ? odd : even) + cg::exclusive_scan_update(same, count, wanted, cg::plus<unsigned long long>());
  for (unsigned k = 0; k < wanted; ++k) to[k] = v;
}

static void launch(const int* x, int* even, int* odd, std::int64_t* counts, std::size_t n) {
  CUDA_CHECK(cudaMemsetAsync(counts, 0, 2 * sizeof *counts));
  if (n == 0) return;
  auto* const of_kind = reinterpret_cast<unsigned long long*>(counts);
  group_places_scan_update<<<ceil_div(n, kBlock), kBlock>>>(x, even, odd, of_kind, n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(GroupPlaces, launch);
