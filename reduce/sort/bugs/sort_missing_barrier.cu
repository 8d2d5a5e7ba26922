// bug: no barrier between storing keys and exchanging values, so values overwrite keys that others still have to store
// caught by: cpu forward | is wrong
// caught by: cpu-trace | shared memory with no barrier between
// caught by: gpu racecheck | hazard | --n=8193
// stage: races and barriers
#include "../radix_counts.cuh"

__global__ void __launch_bounds__(kBlock, 2)
    sort_missing_barrier(const float* __restrict__ keys, const int* __restrict__ values, float* __restrict__ keys_out,
                         int* __restrict__ values_out, std::size_t n, int shift, const unsigned* __restrict__ counts,
                         const unsigned* __restrict__ totals) {
  __shared__ unsigned shared[kTile];     // the warps' counts, then the keys, then the values
  __shared__ unsigned offsets[kDigits];  // from a pair's index in the sorted tile to that in the output
  auto* const next = reinterpret_cast<unsigned(*)[kDigits]>(shared);
  const unsigned d = threadIdx.x;
  const auto count = static_cast<unsigned>(min(n - std::size_t{blockIdx.x} * kTile, std::size_t{kTile}));
  float key[kItems];
  unsigned rank[kItems], to[kItems];
  const std::size_t first = load_part(key, keys, blockIdx.x, n);

  // scan: pairs with lower digits, in the tile (lower half of a word) and in all tiles (upper half)
  const unsigned in_tile = count_tile(next, key, shift);
  const unsigned long long in_all = d < kDigits ? totals[d] : 0u;
  const unsigned long long lower = block_scan<kBlock>(in_all << 32 | in_tile).before;
  const auto start = static_cast<unsigned>(lower);
  if (d < kDigits) {
    offsets[d] = static_cast<unsigned>(lower >> 32) + counts[std::size_t{d} * gridDim.x + blockIdx.x] - start;
  }
  rank_tile(rank, next, key, shift, start);
  __syncthreads();

  // exchange and store the keys, then the values
#pragma unroll
  for (int k = 0; k < kItems; ++k) shared[rank[k]] = __float_as_uint(key[k]);
  __syncthreads();
#pragma unroll
  for (int k = 0; k < kItems; ++k) {
    const unsigned place = threadIdx.x + k * kBlock;
    if (place >= count) continue;
    const float sorted = __uint_as_float(shared[place]);
    to[k] = offsets[digit_of(sorted, shift)] + place;
    keys_out[to[k]] = sorted;
  }
#pragma unroll
  for (int k = 0; k < kItems; ++k) {
    if (first + 32 * k < n) shared[rank[k]] = values[first + 32 * k];
  }
  __syncthreads();
#pragma unroll
  for (int k = 0; k < kItems; ++k) {
    const unsigned place = threadIdx.x + k * kBlock;
    if (place < count) values_out[to[k]] = static_cast<int>(shared[place]);
  }
}

static void launch(const float* keys, const int* values, float* keys_out, int* values_out, std::size_t n) {
  if (n == 0) return;
  float* other_keys = scratch<float>(n);
  int* other_values = scratch<int>(n);
  const auto tiles = static_cast<unsigned>(ceil_div(n, kTile));
  unsigned* totals = scratch<unsigned>(kDigits * (tiles + std::size_t{1}));
  unsigned* counts = totals + kDigits;
  for (int shift = 0; shift < 32; shift += 8) {
    std::swap(keys_out, other_keys), std::swap(values_out, other_values);  // the fourth pass writes the outputs
    count_digits<<<tiles, kBlock>>>(keys, counts, n, shift);
    CUDA_CHECK(cudaGetLastError());
    scan_counts<<<kDigits, 32>>>(counts, totals, tiles);
    CUDA_CHECK(cudaGetLastError());
    sort_missing_barrier<<<tiles, kBlock>>>(keys, values, keys_out, values_out, n, shift, counts, totals);
    CUDA_CHECK(cudaGetLastError());
    keys = keys_out, values = values_out;
  }
}

LADDER_STEP(Sort, launch);
