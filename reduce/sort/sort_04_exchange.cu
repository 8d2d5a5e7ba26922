// Problem:  in step 03 the lanes of a warp store to up to 32 places: a sector for every 4 bytes.
// Idea:     sort the tile in shared memory first. Then neighbouring threads hold pairs of the same digit, which are
//           neighbours in memory, too: 8192 pairs of 256 digits are runs of 32. Keys first, then values.
// Expect:   1.5 to 3x step 03 at 2^24: 40 sectors or so for 32 pairs' stores instead of 64, and half the loads.
// Next:     a pass still reads the keys twice. What keeps a tile from knowing its places without the first two kernels?
#include "../block_scan.cuh"
#include "radix_tile.cuh"

// The counts of step 03, and their scan.
__global__ void sort_exchange_count(const float* __restrict__ keys, unsigned* __restrict__ counts, std::size_t n,
                                    int shift) {
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

__global__ void sort_exchange_scan(unsigned* counts, unsigned* __restrict__ totals, unsigned tiles) {
  unsigned* const row = counts + std::size_t{blockIdx.x} * tiles;
  unsigned before = 0;
  for (unsigned first = 0; first < tiles; first += kBlock) {
    const unsigned t = first + threadIdx.x;
    const BlockScan<unsigned> scan = block_scan<kBlock>(t < tiles ? row[t] : 0u);
    if (t < tiles) row[t] = before + scan.before;
    before += scan.total;
    __syncthreads();  // all have read the scan's shared memory
  }
  if (threadIdx.x == 0) totals[blockIdx.x] = before;
}

__global__ void __launch_bounds__(kBlock, 2)
    sort_exchange(const float* __restrict__ keys, const int* __restrict__ values, float* __restrict__ keys_out,
                  int* __restrict__ values_out, std::size_t n, int shift, const unsigned* __restrict__ counts,
                  const unsigned* __restrict__ totals) {
  __shared__ unsigned shared[kTile];     // the warps' counts, then the keys, then the values
  __shared__ unsigned offsets[kDigits];  // from a pair's place in the sorted tile to that in the output
  auto* const next = reinterpret_cast<unsigned(*)[kDigits]>(shared);
  const unsigned d = threadIdx.x;
  const std::size_t first = first_of_thread(blockIdx.x);
  const auto count = static_cast<unsigned>(min(n - std::size_t{blockIdx.x} * kTile, std::size_t{kTile}));
  float key[kItems];
  unsigned rank[kItems], to[kItems];
  load_keys(key, keys, first, n);

  // scan: how many pairs of the tile, in the lower half of a word, and of all, in the upper, have lower digits
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
    const float sorted = __uint_as_float(shared[place]);
    to[k] = offsets[digit_of(sorted, shift)] + place;
    if (place < count) keys_out[to[k]] = sorted;
  }
  __syncthreads();
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
    std::swap(keys_out, other_keys), std::swap(values_out, other_values);  // so that the fourth pass writes the outputs
    sort_exchange_count<<<tiles, kBlock>>>(keys, counts, n, shift);
    sort_exchange_scan<<<kDigits, kBlock>>>(counts, totals, tiles);
    sort_exchange<<<tiles, kBlock>>>(keys, values, keys_out, values_out, n, shift, counts, totals);
    keys = keys_out, values = values_out;
  }
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Sort, launch);
