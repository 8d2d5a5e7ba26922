// Sorting across the lanes of a warp, and lists of the greatest pairs of a warp or block, for steps 03 and later.
#pragma once
#include "top_k_pair.cuh"

// One pass of a bitonic network over the lanes. Partners are `stride` lanes apart; the lower lane keeps the greater of
// the two values if `descending`.
template <typename T>
__device__ inline T exchanged(T value, unsigned stride, bool descending) {
  const T other = __shfl_xor_sync(0xffffffff, value, stride);
  return ((threadIdx.x & stride) == 0) == descending ? max(value, other) : min(value, other);
}

// Sorts one value per lane, the greatest to lane 0, in 15 passes. All 32 lanes must call it.
template <typename T>
__device__ inline T sorted_descending(T value) {
#pragma unroll
  for (unsigned size = 2; size <= 32; size *= 2) {
#pragma unroll
    for (unsigned stride = size / 2; stride > 0; stride /= 2) {
      value = exchanged(value, stride, size == 32 || (threadIdx.x & size) == 0);
    }
  }
  return value;
}

// A list of 32 * kParts pairs: entry p is best[p / 32] of lane p % 32. All 32 lanes must call its functions.
template <int kParts>
struct WarpList {
  static constexpr int kPlaces = 32 * kParts;
  Pair best[kParts];
  Pair last;  // the k-th: pairs below it are not needed

  // Only pairs above `bound` are taken.
  __device__ explicit WarpList(Pair bound = kNoPair) : last(bound) {
#pragma unroll
    for (int part = 0; part < kParts; ++part) best[part] = kNoPair;
  }

  // Takes one pair from each lane; kNoPair if the lane has none.
  __device__ void offer(Pair pair, unsigned k) {
    if (!__any_sync(0xffffffff, pair > last)) return;
    pair = sorted_descending(pair);
    merge([&](int part) { return part == kParts - 1 ? __shfl_xor_sync(0xffffffff, pair, 31) : kNoPair; });
    last = max(last, at(k - 1));
  }

  // Merges a list sorted the same way; backward(part) returns its entry as far from the end as 32 * part + lane is from
  // the front. The greater of each two are the kPlaces greatest, in bitonic order, which log2(kPlaces) passes sort.
  template <typename Backward>
  __device__ void merge(const Backward& backward) {
#pragma unroll
    for (int part = 0; part < kParts; ++part) best[part] = max(best[part], backward(part));
    if constexpr (kParts == 2) {
      const Pair greater = max(best[0], best[1]);
      best[1] = min(best[0], best[1]);
      best[0] = greater;
    }
#pragma unroll
    for (int part = 0; part < kParts; ++part) {
#pragma unroll
      for (unsigned stride = 16; stride > 0; stride /= 2) best[part] = exchanged(best[part], stride, true);
    }
  }

  // Returns the pair of an entry to all lanes.
  __device__ Pair at(unsigned place) const {
    Pair pair = __shfl_sync(0xffffffff, best[0], place % 32);
    if constexpr (kParts == 2) {
      const Pair behind = __shfl_sync(0xffffffff, best[1], place % 32);
      if (place >= 32) pair = behind;
    }
    return pair;
  }

  __device__ void store(const float* x, float* values, int* indices, unsigned k) const {
#pragma unroll
    for (int part = 0; part < kParts; ++part) {
      const unsigned place = 32 * part + threadIdx.x % 32;
      if (place < k) store_result(x, values, indices, place, best[part]);
    }
  }
};

// Merges the lists of the block's kLists warps into lists[0]. All threads must call it.
template <int kParts, int kLists>
__device__ void merge_warps(WarpList<kParts>& list, Pair (&lists)[kLists][32 * kParts]) {
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (unsigned warps = kLists; warps > 0; warps /= 2) {
    __syncthreads();
    if (warp < warps) {
#pragma unroll
      for (int part = 0; part < kParts; ++part) lists[warp][32 * part + lane] = list.best[part];
    }
    __syncthreads();
    if (warp >= warps / 2) continue;
    list.merge([&](int part) { return lists[warp + warps / 2][32 * kParts - 1 - 32 * part - lane]; });
  }
}
