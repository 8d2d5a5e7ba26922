// Loads, counts and ranks a tile of a radix sort by 8 bits, introduced by step 03, for later steps.
#pragma once
#include "sort_order.cuh"

constexpr int kDigits = 256, kBlock = 512, kWarps = kBlock / 32;
constexpr int kItems = 16, kTile = kItems * kBlock;

__device__ inline unsigned digit_of(float key, int shift) { return sort_order(key) >> shift & (kDigits - 1); }

// Loads a thread's keys of a tile, 32 apart, so that a warp loads neighbours. Returns the index of the first. Keys past
// the end of the array are the greatest possible key, so they sort behind all others.
__device__ inline std::size_t load_part(float (&key)[kItems], const float* __restrict__ keys, unsigned tile,
                                        std::size_t n) {
  const std::size_t first = std::size_t{tile} * kTile + threadIdx.x / 32 * 32 * kItems + threadIdx.x % 32;
#pragma unroll
  for (int k = 0; k < kItems; ++k) key[k] = first + 32 * k < n ? keys[first + 32 * k] : __uint_as_float(0x7fffffff);
  return first;
}

// Sets next[w][d] to the number of keys with digit d in warps before w. Returns the tile's number of keys with digit
// threadIdx.x. All threads must call it. It contains a __syncthreads().
__device__ inline unsigned count_tile(unsigned (*next)[kDigits], const float (&key)[kItems], int shift) {
  unsigned* const mine = next[threadIdx.x / 32];
  for (unsigned d = threadIdx.x % 32; d < kDigits; d += 32) mine[d] = 0;
  __syncwarp();
#pragma unroll
  for (int k = 0; k < kItems; ++k) {
    atomicAdd(&mine[digit_of(key[k], shift)], 1);
  }
  __syncthreads();
  unsigned total = 0;
  if (threadIdx.x < kDigits) {
#pragma unroll
    for (int w = 0; w < kWarps; ++w) {
      const unsigned count = next[w][threadIdx.x];
      next[w][threadIdx.x] = total;
      total += count;
    }
  }
  return total;
}

// Sets rank[k] to the index of key[k] in the tile sorted by digit. start: the number of keys in the tile with a digit
// below threadIdx.x. All threads must call it, after count_tile. It contains a __syncthreads().
__device__ inline void rank_tile(unsigned (&rank)[kItems], unsigned (*next)[kDigits], const float (&key)[kItems],
                                 int shift, unsigned start) {
  if (threadIdx.x < kDigits) {
#pragma unroll
    for (int w = 0; w < kWarps; ++w) next[w][threadIdx.x] += start;
  }
  __syncthreads();
  unsigned* const mine = next[threadIdx.x / 32];
#pragma unroll
  for (int k = 0; k < kItems; ++k) {
    const unsigned digit = digit_of(key[k], shift);
    unsigned peers = 0xffffffff;  // the lanes with the same digit
#pragma unroll
    for (unsigned bit = 1; bit < kDigits; bit *= 2) {
      const unsigned set = __ballot_sync(0xffffffff, digit & bit);
      peers &= digit & bit ? set : ~set;
    }
    const unsigned before = __popc(peers & ((1u << threadIdx.x % 32) - 1));
    rank[k] = mine[digit] + before;
    __syncwarp();
    if (before == 0) mine[digit] += __popc(peers);
    __syncwarp();
  }
}
