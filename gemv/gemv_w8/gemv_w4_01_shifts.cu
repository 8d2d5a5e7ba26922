// Problem:  two weights share a byte, and no load or conversion works on four bits.
// Idea:     one warp per row, a byte per lane and load. A mask and a shift separate its weights, the zero point is
//           subtracted in integers, and the difference is converted.
// Expect:   0.1 to 0.25 of a read of W at 8192x8192: 20 instructions per weight (SASS), since each byte needs two loads
//           of x, a scale and a zero point, too.
// Measured: 0.20 of a read at 8192x8192 (H200).
// Next:     the 16 bytes of a uint4 are 32 weights. Are they in one group?
#include "block_reduce.cuh"
#include "gemv_w4.cuh"

constexpr int kBlock = 256, kGroup = 128;

__global__ void gemv_w4_shifts(const std::uint8_t* __restrict__ W, const float* __restrict__ scales,
                               const std::uint8_t* __restrict__ zeros, const __nv_bfloat16* __restrict__ x,
                               float* __restrict__ y, std::size_t n, std::size_t k) {
  const unsigned lane = threadIdx.x % 32;
  const std::size_t row = (std::size_t{blockIdx.x} * kBlock + threadIdx.x) / 32, groups = ceil_div(k, kGroup);
  if (row >= n) return;  // the whole warp returns, so no shuffle misses a lane
  float sum = 0.0f;
  for (std::size_t j = 2 * lane; j < k; j += 64) {
    const std::size_t group = row * groups + j / kGroup;
    const int byte = W[row * ceil_div(k, 2) + j / 2], zero = zeros[group];
    float part = static_cast<float>((byte & 15) - zero) * __bfloat162float(x[j]);
    if (j + 1 < k) part += static_cast<float>((byte >> 4) - zero) * __bfloat162float(x[j + 1]);
    sum += scales[group] * part;
  }
  sum = warp_sum_to_lane_0(sum);
  if (lane == 0) y[row] = sum;
}

static void launch(const std::uint8_t* W, const float* scales, const std::uint8_t* zeros, const __nv_bfloat16* x,
                   float* y, std::size_t n, std::size_t k) {
  if (n == 0) return;  // a grid of 0 blocks is an error
  gemv_w4_shifts<<<static_cast<unsigned>(ceil_div(n, kBlock / 32)), kBlock>>>(W, scales, zeros, x, y, n, k);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(GemvW4, launch);
