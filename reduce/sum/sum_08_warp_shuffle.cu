// Problem:  step 07 passes values between lanes through shared memory.
// Idea:     __shfl_down_sync passes a register between lanes. Shared memory carries 8 warp sums; one barrier is left.
// Expect:   1.1 to 1.5x step 07: one barrier instead of three, and no address or store between the rounds.
// Measured: 1.03x step 07, 0.55x CUB at 2^28 (H200); 1.03x, 0.77x (H100).
// Why: shuffles use shared memory's pipe: 45 of them and 9 requests per block, 40 requests in step 07 (counted).
// Next:     what does lane 31 get from __shfl_down_sync(..., 16)? (Its own value. Its sum is wrong, but not used.)
#include "sum.cuh"

constexpr int kBlock = 256;

// Returns the sum over the warp to lane 0. All 32 lanes must call it, because the mask names all.
__device__ static float warp_sum_to_lane_0(float v) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) v += __shfl_down_sync(0xffffffff, v, offset);
  return v;
}

__global__ void sum_warp_shuffle(const float* __restrict__ x, float* __restrict__ partials, std::size_t n) {
  __shared__ float warp_sums[kBlock / 32];
  const int tid = threadIdx.x, lane = tid % 32, warp = tid / 32;
  // load: two elements per thread, 0 past the end; no thread returns early
  const std::size_t i = std::size_t{blockIdx.x} * (2 * kBlock) + tid;
  float sum = (i < n ? x[i] : 0.0f) + (i + kBlock < n ? x[i + kBlock] : 0.0f);
  // reduce within the warp
  sum = warp_sum_to_lane_0(sum);
  if (lane == 0) warp_sums[warp] = sum;
  __syncthreads();
  // combine: warp 0 reduces the warps' sums
  if (warp == 0) {
    sum = warp_sum_to_lane_0(lane < kBlock / 32 ? warp_sums[lane] : 0.0f);
    if (lane == 0) partials[blockIdx.x] = sum;
  }
}

static void launch(const float* x, float* out, std::size_t n) {
  float* partials = scratch<float>(2 * ceil_div(n, 2 * kBlock));  // for all passes
  while (n > 2 * kBlock) {
    const auto blocks = static_cast<unsigned>(ceil_div(n, 2 * kBlock));
    sum_warp_shuffle<<<blocks, kBlock>>>(x, partials, n);
    CUDA_CHECK(cudaGetLastError());
    x = partials;
    n = blocks;
    partials += blocks;
  }
  sum_warp_shuffle<<<1, kBlock>>>(x, out, n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Sum, launch, passes_height<2 * kBlock>);
