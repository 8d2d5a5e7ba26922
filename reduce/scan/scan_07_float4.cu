// Problem:  step 06 needs a block's barriers and shuffles for every 256 elements, and loads 4 bytes at a time.
// Idea:     one float4 per thread. Each thread sums its four elements, the block scans the threads' sums, and each
//           thread scans its four from there. A tile has 1024 elements.
// Expect:   1.3 to 1.8x step 06 at 2^28: a quarter of the blocks; x read twice and out written allow 0.67 of a copy.
// Measured: 2.47x step 06, 0.82x CUB at 2^28 (H200).
// Why: blocks, not bytes, were step 06's limit. This step reaches 0.59 of a copy at 2^28 (H200), near 0.67.
// Next:     why not more float4 per thread? (Then a thread's elements aren't neighbours, or its loads aren't coalesced:
//           step 10.)
#include "block_reduce.cuh"
#include "../block_scan.cuh"
#include "scan.cuh"
#include "../scan_tile.cuh"

constexpr int kBlock = 256, kTile = 4 * kBlock;

__global__ void scan_float4_sums(const float* __restrict__ x, float* __restrict__ sums, std::size_t n, bool aligned) {
  const std::size_t i = std::size_t{blockIdx.x} * kTile + 4 * threadIdx.x;
  const float sum = block_sum_to_thread_0<kBlock>(sum4(load4(x, i, n, aligned)));
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

// before[b]: the sum of all tiles before tile b; null if there is only one tile.
__global__ void scan_float4(const float* __restrict__ x, const float* __restrict__ before, float* __restrict__ out,
                            std::size_t n, bool exclusive, bool aligned) {
  const std::size_t i = std::size_t{blockIdx.x} * kTile + 4 * threadIdx.x;
  const float4 v = load4(x, i, n, aligned);
  const float sum = block_scan<kBlock>(sum4(v)).before + (before != nullptr ? before[blockIdx.x] : 0.0f);
  store4(out, i, n, aligned, scan4(v, sum, exclusive));
}

// `sums` must hold the sums and prefix sums of the tiles, of the tiles of these sums, and so on.
static void scan(const float* x, float* out, std::size_t n, bool exclusive, float* sums) {
  const auto blocks = static_cast<unsigned>(ceil_div(n, kTile));
  const bool aligned = aligned_for<float4>(x, out);
  float* before = nullptr;
  if (blocks > 1) {
    scan_float4_sums<<<blocks, kBlock>>>(x, sums, n, aligned);
    CUDA_CHECK(cudaGetLastError());
    before = sums + blocks;
    scan(sums, before, blocks, /*exclusive=*/true, before + blocks);
  }
  scan_float4<<<blocks, kBlock>>>(x, before, out, n, exclusive, aligned);
  CUDA_CHECK(cudaGetLastError());
}

static void launch(const float* x, float* out, std::size_t n, bool exclusive) {
  if (n > 0) scan(x, out, n, exclusive, scratch<float>(3 * ceil_div(n, kTile)));
}

// As in step 06; in a thread, 2 levels for its sum and up to 4 for its elements.
static std::size_t height(std::size_t n) { return n <= kTile ? 16 : 10 + height(ceil_div(n, kTile)) + 1; }

LADDER_STEP(Scan, launch, height);
