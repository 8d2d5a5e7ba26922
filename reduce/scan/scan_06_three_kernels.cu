// Problem:  steps 01 to 05 use one SM of 132, because a tile needs the sums of all tiles before it.
// Idea:     reduce-then-scan in three kernels: sum each tile, scan the sums (recursively if there are many), scan each
//           tile.
// Expect:   0.3 to 0.5 of a copy at 2^28: x is read twice, which allows 0.67, and a block has only 256 elements.
// Measured: 333x step 05, 0.33x CUB at 2^28 (H200).
// Why:      0.24 of a copy at 2^28 (H200): 2^20 blocks of 256 elements in each pass, 1.0 ns apart (computed).
// Next:     why not scan-then-propagate? (Read, write, read, write: 16 bytes per element instead of 12.)
#include "block_reduce.cuh"
#include "../block_scan.cuh"
#include "scan.cuh"

constexpr int kBlock = 256;

__global__ void scan_three_kernels_sums(const float* __restrict__ x, float* __restrict__ sums, std::size_t n) {
  const std::size_t i = std::size_t{blockIdx.x} * kBlock + threadIdx.x;
  const float sum = block_sum_to_thread_0<kBlock>(i < n ? x[i] : 0.0f);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

// before[b]: the sum of all tiles before tile b; null if there is only one tile.
__global__ void scan_three_kernels(const float* __restrict__ x, const float* __restrict__ before,
                                   float* __restrict__ out, std::size_t n, bool exclusive) {
  const std::size_t i = std::size_t{blockIdx.x} * kBlock + threadIdx.x;
  const float v = i < n ? x[i] : 0.0f;
  const float sum = block_scan<kBlock>(v).before + (before != nullptr ? before[blockIdx.x] : 0.0f);
  if (i < n) out[i] = exclusive ? sum : sum + v;
}

// `sums` must hold the sums and prefix sums of the tiles, of the tiles of these sums, and so on.
static void scan(const float* x, float* out, std::size_t n, bool exclusive, float* sums) {
  const auto blocks = static_cast<unsigned>(ceil_div(n, kBlock));
  float* before = nullptr;
  if (blocks > 1) {
    scan_three_kernels_sums<<<blocks, kBlock>>>(x, sums, n);
    CUDA_CHECK(cudaGetLastError());
    before = sums + blocks;
    scan(sums, before, blocks, /*exclusive=*/true, before + blocks);
  }
  scan_three_kernels<<<blocks, kBlock>>>(x, before, out, n, exclusive);
  CUDA_CHECK(cudaGetLastError());
}

static void launch(const float* x, float* out, std::size_t n, bool exclusive) {
  if (n > 0) scan(x, out, n, exclusive, scratch<float>(3 * ceil_div(n, kBlock)));
}

// In a tile: 5 levels in a warp, 4 over the warps, 1 for earlier tiles, 1 for the element. Per level of sums: 8.
static std::size_t height(std::size_t n) { return n <= kBlock ? 11 : 8 + height(ceil_div(n, kBlock)) + 1; }

LADDER_STEP(Scan, launch, height);
