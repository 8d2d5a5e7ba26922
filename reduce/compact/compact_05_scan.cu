// Problem:  steps 01 to 04 assign positions in the order in which the atomics arrive.
// Idea:     keep the order: a position is the scan of 0/1 flags. Three kernels as in scan 06: count per tile, scan the
//           counts, store.
// Expect:   0.5 to 0.8x step 04 at 2^28: x is read twice (10 bytes per element, not 6); one block scans 2^18 counts.
// Measured: 1.17x step 04, 0.57x CUB at 2^28 (H200).
// Why:      x is read twice (counted), but there are barriers once per 1024 elements, not once per 256 (hypothesis).
// Next:     what does a tile need from earlier tiles, and how early is it available? (Step 06.)
#include "../block_scan.cuh"
#include "compact_tile.cuh"

constexpr int kBlock = 256, kTile = 4 * kBlock, kScanBlock = 1024;

__global__ void compact_scan_counts(const float* __restrict__ x, unsigned long long* __restrict__ counts, std::size_t n,
                                    bool aligned) {
  const std::size_t i = std::size_t{blockIdx.x} * kTile + 4 * threadIdx.x;
  const unsigned total = block_scan<kBlock>(count4(load4(x, i, n, aligned))).total;
  if (threadIdx.x == 0) counts[blockIdx.x] = total;
}

// In: counts[t] is the number that tile t keeps. Out: the number that all tiles before it keep. One block.
__global__ void compact_scan_of_counts(unsigned long long* counts, unsigned tiles, unsigned long long* count) {
  unsigned long long before = 0;
  for (unsigned first = 0; first < tiles; first += kScanBlock) {
    const unsigned t = first + threadIdx.x;
    const BlockScan<unsigned long long> scan = block_scan<kScanBlock>(t < tiles ? counts[t] : 0ull);
    if (t < tiles) counts[t] = before + scan.before;
    before += scan.total;
    __syncthreads();  // all threads have read the scan's shared memory
  }
  if (threadIdx.x == 0) *count = before;
}

__global__ void compact_scan(const float* __restrict__ x, float* __restrict__ out,
                             const unsigned long long* __restrict__ before, std::size_t n, bool aligned) {
  const std::size_t i = std::size_t{blockIdx.x} * kTile + 4 * threadIdx.x;
  const float4 v = load4(x, i, n, aligned);
  keep4(out + before[blockIdx.x] + block_scan<kBlock>(count4(v)).before, v);
}

static void launch(const float* x, float* out, std::int64_t* count, std::size_t n) {
  const auto tiles = static_cast<unsigned>(ceil_div(n, kTile));
  unsigned long long* counts = scratch<unsigned long long>(tiles);
  const bool aligned = aligned_for<float4>(x);
  if (n > 0) compact_scan_counts<<<tiles, kBlock>>>(x, counts, n, aligned);
  CUDA_CHECK(cudaGetLastError());
  compact_scan_of_counts<<<1, kScanBlock>>>(counts, tiles, reinterpret_cast<unsigned long long*>(count));
  CUDA_CHECK(cudaGetLastError());
  if (n > 0) compact_scan<<<tiles, kBlock>>>(x, out, counts, n, aligned);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Compact, launch, CompactOrder::kOfX, std::size_t{1} << 28, std::size_t{kTile} * kScanBlock);
