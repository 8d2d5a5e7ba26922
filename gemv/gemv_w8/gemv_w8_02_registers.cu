// Problem:  step 01 moves 9 bytes per weight, 8 of them for a matrix that is used only once.
// Idea:     dequantize in registers. One warp per row; a lane loads a byte, converts it, and multiplies by scale and x.
// Expect:   2 to 5x step 01 at 8192x8192, not 9x: each weight needs a load of x and of a scale, too, 16 instructions in
//           all (SASS), where a read of W leaves 7 issue slots per weight (H200) or 10 (H100).
// Measured: 2.52x step 01, 0.36 of a read at 8192x8192 (H200).
// Next:     a group shares its scale. How often must a sum be multiplied by it?
#include "block_reduce.cuh"
#include "gemv_w8.cuh"

constexpr int kBlock = 256, kGroup = 128;

__global__ void gemv_w8_registers(const std::int8_t* __restrict__ W, const float* __restrict__ scales,
                                  const __nv_bfloat16* __restrict__ x, float* __restrict__ y, std::size_t n,
                                  std::size_t k) {
  const unsigned lane = threadIdx.x % 32;
  const std::size_t row = (std::size_t{blockIdx.x} * kBlock + threadIdx.x) / 32;
  if (row >= n) return;  // the whole warp returns, so no shuffle misses a lane
  const std::int8_t* w = W + row * k;
  const float* scale = scales + row * ceil_div(k, kGroup);  // rounded up: a short last group has a scale, too
  float sum = 0.0f;
  for (std::size_t j = lane; j < k; j += 32) sum += scale[j / kGroup] * w[j] * __bfloat162float(x[j]);
  sum = warp_sum_to_lane_0(sum);
  if (lane == 0) y[row] = sum;
}

static void launch(const std::int8_t* W, const float* scales, const __nv_bfloat16* x, float* y, std::size_t n,
                   std::size_t k) {
  if (n == 0) return;
  gemv_w8_registers<<<static_cast<unsigned>(ceil_div(n, kBlock / 32)), kBlock>>>(W, scales, x, y, n, k);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(GemvW8, launch);
