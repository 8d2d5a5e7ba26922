// bug: no barrier between the exchange and the stores, so a warp stores elements that another has not written yet
// caught by: cpu forward | is wrong
// caught by: cpu-trace | shared memory with no barrier between
// caught by: gpu racecheck | hazard | --n=1025
// stage: races and barriers
#include "../../block_scan.cuh"
#include "../compact_tile.cuh"
#include "../../look_back.cuh"

constexpr int kBlock = 256, kWarps = kBlock / 32;
constexpr int kRows = 4;  // float4 per thread
constexpr int kTile = 4 * kRows * kBlock;

__global__ void compact_missing_barrier(const float* __restrict__ x, float* __restrict__ out, unsigned long long* count,
                                        std::size_t n, bool aligned, LookBackWord* words) {
  __shared__ float kept[kTile];
  __shared__ unsigned warp_counts[kWarps];
  __shared__ LookBackWord shared_before;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const unsigned tile = take_tile(words);

  // load: all rows in flight
  const std::size_t first = std::size_t{tile} * kTile + warp * (128 * kRows) + 4 * lane;
  float4 v[kRows];
#pragma unroll
  for (int row = 0; row < kRows; ++row) v[row] = load4<true>(x, first + 128 * row, n, aligned);

  // count: one byte per row, at most 128, so one scan handles all rows
  unsigned counts = 0;
#pragma unroll
  for (int row = 0; row < kRows; ++row) counts |= count4(v[row]) << 8 * row;
  const unsigned scan = warp_scan(counts), before_lane = scan - counts;
  const unsigned row_counts = __shfl_sync(0xffffffff, scan, 31);
  unsigned warp_count = 0;
#pragma unroll
  for (int row = 0; row < kRows; ++row) warp_count += row_counts >> 8 * row & 255;
  if (lane == 0) warp_counts[warp] = warp_count;
  __syncthreads();

  // exchange: each warp scans the warps' counts itself
  const unsigned sums = warp_scan(lane < kWarps ? warp_counts[lane] : 0u);
  const unsigned total = __shfl_sync(0xffffffff, sums, 31);
  if (warp == 0) {
    const LookBackWord before = look_back(words, tile, LookBackWord{total});
    if (lane == 0) shared_before = before;
    if (lane == 0 && tile == gridDim.x - 1) *count = before + total;
  }
  __syncthreads();
  unsigned before_row = __shfl_sync(0xffffffff, sums, warp) - warp_count;
#pragma unroll
  for (int row = 0; row < kRows; ++row) {
    keep4(kept + before_row + (before_lane >> 8 * row & 255), v[row]);
    before_row += row_counts >> 8 * row & 255;
  }

  // store
  for (unsigned k = threadIdx.x; k < total; k += kBlock) out[shared_before + k] = kept[k];
}

static void launch(const float* x, float* out, std::int64_t* count, std::size_t n) {
  if (n == 0) {
    CUDA_CHECK(cudaMemsetAsync(count, 0, sizeof *count));
    return;
  }
  const auto tiles = static_cast<unsigned>(ceil_div(n, kTile));
  compact_missing_barrier<<<tiles, kBlock>>>(x, out, reinterpret_cast<unsigned long long*>(count), n,
                                             aligned_for<float4>(x), look_back_words(tiles));
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Compact, launch);
