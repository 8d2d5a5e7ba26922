// Counts each tile's digits and scans the counts: the first two kernels of step 03, for step 04.
#pragma once
#include "../block_scan.cuh"
#include "radix_tile.cuh"

// counts[d * tiles + t]: the number of keys in tile t with digit d.
__global__ void count_digits(const float* __restrict__ keys, unsigned* __restrict__ counts, std::size_t n, int shift) {
  __shared__ unsigned count[kDigits];
  if (threadIdx.x < kDigits) count[threadIdx.x] = 0;
  __syncthreads();
#pragma unroll
  for (int k = 0; k < kItems; ++k) {
    const std::size_t i = std::size_t{blockIdx.x} * kTile + k * kBlock + threadIdx.x;
    if (i < n) atomicAdd(&count[digit_of(keys[i], shift)], 1);
  }
  __syncthreads();
  if (threadIdx.x < kDigits) counts[std::size_t{threadIdx.x} * gridDim.x + blockIdx.x] = count[threadIdx.x];
}

// One warp per digit: replaces each count by the sum of the counts of earlier tiles, and stores the total in totals[d].
__global__ void scan_counts(unsigned* counts, unsigned* __restrict__ totals, unsigned tiles) {
  unsigned* const row = counts + std::size_t{blockIdx.x} * tiles;
  unsigned before = 0;
  for (unsigned first = 0; first < tiles; first += 32) {
    const unsigned t = first + threadIdx.x, count = t < tiles ? row[t] : 0, sum = warp_scan(count);
    if (t < tiles) row[t] = before + sum - count;
    before += __shfl_sync(0xffffffff, sum, 31);
  }
  if (threadIdx.x == 0) totals[blockIdx.x] = before;
}
