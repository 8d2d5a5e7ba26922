// Problem:  a pass of step 04 reads the keys twice, because a pair's place depends on the counts of all tiles.
// Idea:     onesweep (Adinets and Merrill, 2022). One kernel counts the digits of all four passes. Then each pass is
//           one kernel: a tile publishes its counts, and thread d looks back over those of digit d, as in scan 08.
// Expect:   1.1 to 1.5x step 04 at 2^24: 68 bytes per pair instead of 80, and 5 large kernels instead of 12.
// Measured: 1.15x step 04, 0.75x CUB at 2^24 (H200).
// Next:     why are the counts published before the keys are ranked? (All later tiles wait for them.)
#include "../block_scan.cuh"
#include "../look_back.cuh"
#include "radix_tile.cuh"

constexpr int kPasses = 4;

// Adds to counts[256 p + d] the number of keys with digit d in pass p.
__global__ void sort_look_back_count(const float* __restrict__ keys, unsigned* counts, std::size_t n) {
  __shared__ unsigned count[kPasses * kDigits];
  for (unsigned d = threadIdx.x; d < kPasses * kDigits; d += kBlock) count[d] = 0;
  __syncthreads();
  const std::size_t stride = std::size_t{gridDim.x} * kBlock;
  for (std::size_t i = std::size_t{blockIdx.x} * kBlock + threadIdx.x; i < n; i += stride) {
    const float key = keys[i];
#pragma unroll
    for (int p = 0; p < kPasses; ++p) atomicAdd(&count[p * kDigits + digit_of(key, 8 * p)], 1);
  }
  __syncthreads();
  for (unsigned d = threadIdx.x; d < kPasses * kDigits; d += kBlock) atomicAdd(counts + d, count[d]);
}

// Returns how many pairs of earlier tiles have the digit whose status word in this tile is *word.
__device__ static unsigned look_back_digit(const LookBackWord* word, unsigned tile) {
  LookBackWord before = 0;
  while (tile-- > 0) {
    LookBackWord found;
    word -= kDigits;
    do {
      found = *static_cast<const volatile LookBackWord*>(word);
    } while (found >> kLookBackShift == kNothing);
    before += look_back_value<LookBackWord>(found);
    if (found >> kLookBackShift == kPrefix) break;
  }
  return static_cast<unsigned>(before);
}

// words: a counter of tiles taken, then 256 status words per tile; all 0. counts: this pass's digit counts over all
// tiles.
__global__ void __launch_bounds__(kBlock, 2)
    sort_look_back(const float* __restrict__ keys, const int* __restrict__ values, float* __restrict__ keys_out,
                   int* __restrict__ values_out, std::size_t n, int shift, const unsigned* __restrict__ counts,
                   LookBackWord* words) {
  __shared__ unsigned shared[kTile];     // the warps' counts, then the keys, then the values
  __shared__ unsigned offsets[kDigits];  // from a pair's index in the sorted tile to that in the output
  auto* const next = reinterpret_cast<unsigned(*)[kDigits]>(shared);
  const unsigned d = threadIdx.x, tile = take_tile(words);
  const auto count = static_cast<unsigned>(min(n - std::size_t{tile} * kTile, std::size_t{kTile}));
  float key[kItems];
  unsigned rank[kItems], to[kItems];
  const std::size_t first = load_part(key, keys, tile, n);

  // publish the count of digit d; the last tile's padding counts too, but no tile reads its words
  const unsigned in_tile = count_tile(next, key, shift);
  LookBackWord* const word = words + 1 + std::size_t{tile} * kDigits + d;
  if (d < kDigits) publish(word, tile == 0 ? kPrefix : kSum, LookBackWord{in_tile});

  // scan: pairs with lower digits, in the tile (lower half of a word) and in all tiles (upper half)
  const unsigned long long in_all = d < kDigits ? counts[d] : 0u;
  const unsigned long long lower = block_scan<kBlock>(in_all << 32 | in_tile).before;
  const auto start = static_cast<unsigned>(lower);
  rank_tile(rank, next, key, shift, start);

  // look back: one thread per digit, so a warp reads neighbouring words
  if (d < kDigits) {
    const unsigned before = look_back_digit(word, tile);
    if (tile > 0) publish(word, kPrefix, LookBackWord{before} + in_tile);
    offsets[d] = static_cast<unsigned>(lower >> 32) + before - start;
  }
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
  unsigned* counts = scratch<unsigned>(kPasses * kDigits);
  CUDA_CHECK(cudaMemsetAsync(counts, 0, kPasses * kDigits * sizeof(unsigned)));
  const auto tiles = static_cast<unsigned>(ceil_div(n, kTile));
  const std::size_t blocks = std::min(resident_blocks(sort_look_back_count, kBlock), std::size_t{tiles});
  sort_look_back_count<<<static_cast<unsigned>(blocks), kBlock>>>(keys, counts, n);
  CUDA_CHECK(cudaGetLastError());
  for (int pass = 0; pass < kPasses; ++pass) {
    std::swap(keys_out, other_keys), std::swap(values_out, other_values);  // the last pass writes the outputs
    sort_look_back<<<tiles, kBlock>>>(keys, values, keys_out, values_out, n, 8 * pass, counts + pass * kDigits,
                                      look_back_words(std::size_t{tiles} * kDigits));
    CUDA_CHECK(cudaGetLastError());
    keys = keys_out, values = values_out;
  }
}

LADDER_STEP(Sort, launch);
