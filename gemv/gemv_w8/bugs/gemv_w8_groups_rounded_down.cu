// bug: k / 128 scales per row, rounded down: with a short last group all rows but the first use another row's scales
// caught by: cpu forward | is wrong
// caught by: gpu | is wrong
// stage: right
#include "block_reduce.cuh"
#include "../gemv_w8.cuh"

constexpr int kBlock = 256, kGroup = 128;

__global__ void gemv_w8_groups_rounded_down(const std::int8_t* __restrict__ W, const float* __restrict__ scales,
                                            const __nv_bfloat16* __restrict__ x, float* __restrict__ y, std::size_t n,
                                            std::size_t k) {
  const unsigned lane = threadIdx.x % 32;
  const std::size_t row = (std::size_t{blockIdx.x} * kBlock + threadIdx.x) / 32;
  if (row >= n) return;
  const std::int8_t* w = W + row * k;
  const float* scale = scales + row * (k / kGroup);
  float sum = 0.0f;
  for (std::size_t j = lane; j < k; j += 32) sum += scale[j / kGroup] * w[j] * __bfloat162float(x[j]);
  sum = warp_sum_to_lane_0(sum);
  if (lane == 0) y[row] = sum;
}

static void launch(const std::int8_t* W, const float* scales, const __nv_bfloat16* x, float* y, std::size_t n,
                   std::size_t k) {
  if (n == 0) return;
  gemv_w8_groups_rounded_down<<<static_cast<unsigned>(ceil_div(n, kBlock / 32)), kBlock>>>(W, scales, x, y, n, k);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(GemvW8, launch);
