// Step 06 passes values between lanes through shared memory. Idea: warp shuffles. __shfl_down_sync hands a register
// from lane to lane: no memory, no address, no barrier. Each warp reduces its 32 values in five shuffles; shared memory
// only carries the 8 warp sums, and one barrier is left. The mask 0xffffffff names all 32 lanes, so all must get there:
// the block is a multiple of 32, and nobody returns early.
// Expect: less time in the block; how much shows only if memory is not the limit already.
// Next question: what does lane 31 get from __shfl_down_sync(..., 16)? (Its own value; its sum is garbage, and unused.)
#include "sum.cuh"

constexpr int kBlock = 256;

// The sum over the warp, in lane 0. All 32 lanes must call it.
__device__ static float warp_sum(float v) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) v += __shfl_down_sync(0xffffffff, v, offset);
  return v;
}

__global__ void sum_warp_shuffle(const float* __restrict__ x, float* __restrict__ sums, std::size_t n) {
  __shared__ float warp_sums[kBlock / 32];
  const int tid = threadIdx.x, lane = tid % 32, warp = tid / 32;
  const std::size_t i = static_cast<std::size_t>(blockIdx.x) * (2 * kBlock) + tid;
  float sum = (i < n ? x[i] : 0.0f) + (i + kBlock < n ? x[i + kBlock] : 0.0f);
  sum = warp_sum(sum);
  if (lane == 0) warp_sums[warp] = sum;
  __syncthreads();
  if (warp == 0) {
    sum = warp_sum(lane < kBlock / 32 ? warp_sums[lane] : 0.0f);
    if (lane == 0) sums[blockIdx.x] = sum;
  }
}

static void launch(const float* x, float* out, std::size_t n) {
  sum_in_passes(x, out, n, 2 * kBlock, [](const float* in, float* sums, std::size_t count, unsigned blocks) {
    sum_warp_shuffle<<<blocks, kBlock>>>(in, sums, count);
    CUDA_CHECK(cudaGetLastError());
  });
}

LADDER_STEP(Sum, launch, passes_height<2 * kBlock>);
