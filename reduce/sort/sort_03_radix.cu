// Problem:  each pass of step 02 only doubles the length of the sorted runs, so there are log2(n) - 11 of them.
// Idea:     LSD radix sort: four stable passes, each by 8 bits of the key, the lowest first. Per pass, three kernels
//           count the digits of each tile, scan the counts, and store each pair at its sorted index.
// Expect:   0.7 to 1.2x step 02 at 2^24: 4 passes of 20 bytes per pair, not 13 of 16. But each 4-byte store touches its
//           own sector of 32 bytes, so the stores take more sectors than those of 13 merges.
// Measured: 0.87x step 02, 0.20x CUB at 2^24 (H200).
// Next:     why must a pass be stable, and the lowest digit first? (Equal digits keep the order of earlier passes.)
#include "../block_scan.cuh"
#include "sort_order.cuh"

constexpr int kDigits = 256, kBlock = 512, kWarps = kBlock / 32;
constexpr int kItems = 16, kTile = kItems * kBlock;

__device__ static unsigned digit_of(float key, int shift) { return sort_order(key) >> shift & (kDigits - 1); }

// counts[d * tiles + t]: the number of keys in tile t with digit d.
__global__ void sort_radix_count(const float* __restrict__ keys, unsigned* __restrict__ counts, std::size_t n,
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

// One warp per digit: replaces each count by the sum of the counts of earlier tiles, and stores the total in totals[d].
__global__ void sort_radix_scan(unsigned* counts, unsigned* __restrict__ totals, unsigned tiles) {
  unsigned* const row = counts + std::size_t{blockIdx.x} * tiles;
  unsigned before = 0;
  for (unsigned first = 0; first < tiles; first += 32) {
    const unsigned t = first + threadIdx.x, count = t < tiles ? row[t] : 0, sum = warp_scan(count);
    if (t < tiles) row[t] = before + sum - count;
    before += __shfl_sync(0xffffffff, sum, 31);
  }
  if (threadIdx.x == 0) totals[blockIdx.x] = before;
}

__global__ void __launch_bounds__(kBlock)
    sort_radix(const float* __restrict__ keys, const int* __restrict__ values, float* __restrict__ keys_out,
               int* __restrict__ values_out, std::size_t n, int shift, const unsigned* __restrict__ counts,
               const unsigned* __restrict__ totals) {
  __shared__ unsigned next[kWarps][kDigits];  // a warp's counts, then the output index of its next key per digit
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const std::size_t first = std::size_t{blockIdx.x} * kTile + warp * 32 * kItems + lane;

  // count: each warp counts the digits of its 512 consecutive keys
  for (unsigned d = lane; d < kDigits; d += 32) next[warp][d] = 0;
  __syncwarp();
#pragma unroll
  for (int k = 0; k < kItems; ++k) {
    const std::size_t i = first + 32 * k;
    if (i < n) atomicAdd(&next[warp][digit_of(keys[i], shift)], 1);
  }

  // scan: lower digits, then earlier tiles, then earlier warps; thread d handles digit d
  const unsigned d = threadIdx.x;
  unsigned place = block_scan<kBlock>(d < kDigits ? totals[d] : 0u).before;  // its barrier also ends the counting
  if (d < kDigits) {
    place += counts[std::size_t{d} * gridDim.x + blockIdx.x];
    for (int w = 0; w < kWarps; ++w) {
      const unsigned count = next[w][d];
      next[w][d] = place;
      place += count;
    }
  }
  __syncthreads();

  // store: 32 keys at a time, in order; of equal digits the lower lane comes first
  for (int k = 0; k < kItems; ++k) {
    const std::size_t i = first + 32 * k;
    if (i - lane >= n) break;  // the whole warp
    const float key = i < n ? keys[i] : 0.0f;
    const unsigned digit = digit_of(key, shift);
    unsigned peers = __ballot_sync(0xffffffff, i < n);  // the lanes with the same digit
    for (unsigned bit = 1; bit < kDigits; bit *= 2) {
      const unsigned set = __ballot_sync(0xffffffff, digit & bit);
      peers &= digit & bit ? set : ~set;
    }
    const unsigned rank = __popc(peers & ((1u << lane) - 1)), to = next[warp][digit] + rank;
    __syncwarp();
    if (i < n) {
      if (rank == 0) next[warp][digit] += __popc(peers);
      keys_out[to] = key;
      values_out[to] = values[i];
    }
    __syncwarp();
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
    sort_radix_count<<<tiles, kBlock>>>(keys, counts, n, shift);
    CUDA_CHECK(cudaGetLastError());
    sort_radix_scan<<<kDigits, 32>>>(counts, totals, tiles);
    CUDA_CHECK(cudaGetLastError());
    sort_radix<<<tiles, kBlock>>>(keys, values, keys_out, values_out, n, shift, counts, totals);
    CUDA_CHECK(cudaGetLastError());
    keys = keys_out, values = values_out;
  }
}

LADDER_STEP(Sort, launch);
