// bug: half of the warp shuffles with a mask that names only itself and reads from lanes outside the mask
// caught by: cpu forward | out[0] of 1 is wrong: got nan
// caught by: gpu | out[0] of 1 is wrong
// stage: right
#include "../sum.cuh"

constexpr int kBlock = 256;

__device__ static float warp_sum_to_lane_0(float v, int lane) {
  for (int offset = 16; offset > 0; offset /= 2) {
    // The upper lanes hold the values to read, so they must take part: mask 0xffffffff, and no if.
    if (lane < offset) v += __shfl_down_sync((1u << offset) - 1, v, offset);
  }
  return v;
}

__global__ void sum_wrong_shuffle_mask(const float* __restrict__ x, float* __restrict__ partials, std::size_t n) {
  __shared__ float warp_sums[kBlock / 32];
  const int tid = threadIdx.x, lane = tid % 32, warp = tid / 32;
  const std::size_t i = std::size_t{blockIdx.x} * kBlock + tid;
  float sum = warp_sum_to_lane_0(i < n ? x[i] : 0.0f, lane);
  if (lane == 0) warp_sums[warp] = sum;
  __syncthreads();
  if (warp == 0) {
    sum = warp_sum_to_lane_0(lane < kBlock / 32 ? warp_sums[lane] : 0.0f, lane);
    if (lane == 0) partials[blockIdx.x] = sum;
  }
}

static void launch(const float* x, float* out, std::size_t n) {
  float* partials = scratch<float>(2 * ceil_div(n, kBlock));  // for all passes
  while (n > kBlock) {
    const auto blocks = static_cast<unsigned>(ceil_div(n, kBlock));
    sum_wrong_shuffle_mask<<<blocks, kBlock>>>(x, partials, n);
    CUDA_CHECK(cudaGetLastError());
    x = partials;
    n = blocks;
    partials += blocks;
  }
  sum_wrong_shuffle_mask<<<1, kBlock>>>(x, out, n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Sum, launch, passes_height<kBlock>);
