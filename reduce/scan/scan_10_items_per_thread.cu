// Problem:  in step 09 each tile of only 4 KB costs a ticket, a look-back and barriers.
// Idea:     tiles of 16 KB: a thread has four float4. A warp owns four consecutive rows of 128 elements, so each load
//           is coalesced, and it scans the rows independently. Evict-first (__ldcs, __stcs): nothing is used twice.
// Expect:   1.5 to 3x step 09 at 2^28: a quarter of the tiles, and 64 bytes in flight per thread instead of 16.
// Measured: 1.78x step 09, 1.20x CUB at 2^28 (H200).
// Next:     why do the bits differ between runs? (The order of additions depends on which tiles have published.)
#include "../block_scan.cuh"
#include "../look_back.cuh"
#include "scan.cuh"
#include "../scan_tile.cuh"

constexpr int kBlock = 256, kWarps = kBlock / 32;
constexpr int kRows = 4;  // float4 per thread
constexpr int kTile = 4 * kRows * kBlock;

__global__ void __launch_bounds__(kBlock)
    scan_items_per_thread(const float* __restrict__ x, float* __restrict__ out, std::size_t n, bool exclusive,
                          bool aligned, LookBackWord* words) {
  __shared__ float warp_sums[kWarps];
  __shared__ float shared_before;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const unsigned tile = take_tile(words);

  // load: all rows in flight
  const std::size_t first = std::size_t{tile} * kTile + warp * (128 * kRows) + 4 * lane;
  float4 v[kRows];
#pragma unroll
  for (int row = 0; row < kRows; ++row) v[row] = load4<true>(x, first + 128 * row, n, aligned);

  // scan each row; before[row] is the sum of the warp's elements before v[row]
  float before[kRows], warp_sum = 0.0f;
#pragma unroll
  for (int row = 0; row < kRows; ++row) {
    const float sum = warp_scan(sum4(v[row]));
    const float left = __shfl_up_sync(0xffffffff, sum, 1);
    before[row] = warp_sum + (lane > 0 ? left : 0.0f);
    warp_sum += __shfl_sync(0xffffffff, sum, 31);
  }
  if (lane == 0) warp_sums[warp] = warp_sum;
  __syncthreads();

  // combine: each warp scans the warps' sums itself; warp 0 looks back
  const float sums = warp_scan(lane < kWarps ? warp_sums[lane] : 0.0f);
  const float before_warp = __shfl_sync(0xffffffff, sums, warp > 0 ? warp - 1 : 0);
  if (warp == 0) {
    const float all_before = look_back(words, tile, __shfl_sync(0xffffffff, sums, 31));
    if (lane == 0) shared_before = all_before;
  }
  __syncthreads();

  // store
  const float all_before = shared_before + (warp > 0 ? before_warp : 0.0f);
#pragma unroll
  for (int row = 0; row < kRows; ++row) {
    store4<true>(out, first + 128 * row, n, aligned, scan4(v[row], all_before + before[row], exclusive));
  }
}

static void launch(const float* x, float* out, std::size_t n, bool exclusive) {
  if (n == 0) return;
  const auto tiles = static_cast<unsigned>(ceil_div(n, kTile));
  scan_items_per_thread<<<tiles, kBlock>>>(x, out, n, exclusive, aligned_for<float4>(x, out), look_back_words(tiles));
  CUDA_CHECK(cudaGetLastError());
}

// Additions per element: 6 in a thread, 5 in a row, 4 over rows, 5 over warps, 2 to combine; then the tiles.
LADDER_STEP(Scan, launch, [](std::size_t n) { return 22 + ceil_div(n, kTile); });
