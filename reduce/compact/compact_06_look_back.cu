// Problem:  step 05 reads x twice, and its second kernel runs on one SM.
// Idea:     one pass with decoupled look-back: a tile publishes its count and adds the counts published by earlier
//           tiles.
// Expect:   1.3 to 2x step 05 at 2^28: 6 bytes per element instead of 10. But tiles have only 4 KB, as in scan 09.
// Measured: 1.04x step 05, 0.60x CUB at 2^28 (H200).
// Why: a tile of 4 KB takes 3.8 ns of the GPU's time (H200, computed), as in scan 09. Ticket, barriers and look-back
// are probably the limit, not bytes.
// Next:     how many sectors does a warp's store touch? (8 or more; the 16 elements that it keeps on average fill 2.)
#include "../block_scan.cuh"
#include "compact_tile.cuh"
#include "../look_back.cuh"

constexpr int kBlock = 256, kTile = 4 * kBlock;

__global__ void compact_look_back(const float* __restrict__ x, float* __restrict__ out, unsigned long long* count,
                                  std::size_t n, bool aligned, LookBackWord* words) {
  __shared__ LookBackWord shared_before;
  const unsigned tile = take_tile(words);
  const std::size_t i = std::size_t{tile} * kTile + 4 * threadIdx.x;
  const float4 v = load4(x, i, n, aligned);
  const BlockScan<unsigned> scan = block_scan<kBlock>(count4(v));
  if (threadIdx.x < 32) {
    const LookBackWord before = look_back(words, tile, LookBackWord{scan.total});
    if (threadIdx.x == 0) shared_before = before;
    if (threadIdx.x == 0 && tile == gridDim.x - 1) *count = before + scan.total;
  }
  __syncthreads();
  keep4(out + shared_before + scan.before, v);
}

static void launch(const float* x, float* out, std::int64_t* count, std::size_t n) {
  if (n == 0) {
    CUDA_CHECK(cudaMemsetAsync(count, 0, sizeof *count));
    return;
  }
  const auto tiles = static_cast<unsigned>(ceil_div(n, kTile));
  compact_look_back<<<tiles, kBlock>>>(x, out, reinterpret_cast<unsigned long long*>(count), n, aligned_for<float4>(x),
                                       look_back_words(tiles));
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Compact, launch);
