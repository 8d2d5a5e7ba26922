// Problem:  steps 02 to 04 pass every value through shared memory, with a barrier in each round.
// Idea:     Hillis-Steele by shuffles: __shfl_up_sync needs no barrier. Shared memory carries only the 8 warp sums.
// Expect:   1.3 to 2x step 02: 3 barriers instead of 9; the latency of one load per tile stays.
// Measured: 0.90x step 04, 0.001x CUB at 2^28 (H200).
// Why:      1.01x step 02 at 2^20 (H200). Ten dependent shuffles may take as long as eight rounds (hypothesis).
// Next:     5 rounds over 32 lanes are 129 additions; a tree needs 57. Why is nothing lost? (The lanes would idle
//           otherwise.)
#include "scan.cuh"

constexpr int kBlock = 256, kWarps = kBlock / 32;

// Returns the inclusive scan over the warp. All 32 lanes must call it.
__device__ static float warp_scan(float sum) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int offset = 1; offset < 32; offset *= 2) {
    const float left = __shfl_up_sync(0xffffffff, sum, offset);
    if (lane >= offset) sum += left;
  }
  return sum;
}

__global__ void scan_warp_shuffle(const float* __restrict__ x, float* __restrict__ out, std::size_t n, bool exclusive) {
  __shared__ float warp_sums[kWarps];
  const int tid = threadIdx.x, lane = tid % 32, warp = tid / 32;
  float before = 0.0f;  // sum of all earlier tiles
  if (exclusive && tid == 0) out[0] = 0.0f;
  for (std::size_t begin = 0; begin < n; begin += kBlock) {
    // load: one element per thread, 0 past the end
    const std::size_t i = begin + tid;
    float sum = i < n ? x[i] : 0.0f;

    // scan within the warp
    sum = warp_scan(sum);
    if (lane == 31) warp_sums[warp] = sum;
    __syncthreads();

    // combine: warp 0 scans the warps' sums
    if (warp == 0) {
      const float sums = warp_scan(lane < kWarps ? warp_sums[lane] : 0.0f);
      if (lane < kWarps) warp_sums[lane] = sums;
    }
    __syncthreads();
    if (warp > 0) sum += warp_sums[warp - 1];

    // store: the exclusive scan is the inclusive scan shifted by one
    const std::size_t to = exclusive ? i + 1 : i;
    if (to < n) out[to] = before + sum;

    // carry; the barrier keeps warps from storing their next sums before all have read these
    before += warp_sums[kWarps - 1];
    __syncthreads();
  }
}

static void launch(const float* x, float* out, std::size_t n, bool exclusive) {
  if (n == 0) return;
  scan_warp_shuffle<<<1, kBlock>>>(x, out, n, exclusive);
  CUDA_CHECK(cudaGetLastError());
}

// 5 levels in the warp, 3 over the warps and one to combine them; then the tiles' sums one after another.
LADDER_STEP(
    Scan, launch, [](std::size_t n) { return 9 + ceil_div(n, kBlock); }, /*timed=*/std::size_t{1} << 24);
