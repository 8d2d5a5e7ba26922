// bug: row r starts at byte r * k / 2: with odd k a row ends with half a byte, and the next one starts a byte later
// caught by: cpu forward | is wrong
// caught by: gpu | is wrong
// stage: right
#include "block_reduce.cuh"
#include "../gemv_w4.cuh"

constexpr int kBlock = 256, kGroup = 128;

__global__ void gemv_w4_odd_row(const std::uint8_t* __restrict__ W, const float* __restrict__ scales,
                                const std::uint8_t* __restrict__ zeros, const __nv_bfloat16* __restrict__ x,
                                float* __restrict__ y, std::size_t n, std::size_t k) {
  const unsigned lane = threadIdx.x % 32;
  const std::size_t row = (std::size_t{blockIdx.x} * kBlock + threadIdx.x) / 32, groups = ceil_div(k, kGroup);
  if (row >= n) return;
  float sum = 0.0f;
  for (std::size_t j = 2 * lane; j < k; j += 64) {
    const std::size_t group = row * groups + j / kGroup;
    const int byte = W[row * k / 2 + j / 2], zero = zeros[group];
    float part = static_cast<float>((byte & 15) - zero) * __bfloat162float(x[j]);
    if (j + 1 < k) part += static_cast<float>((byte >> 4) - zero) * __bfloat162float(x[j + 1]);
    sum += scales[group] * part;
  }
  sum = warp_sum_to_lane_0(sum);
  if (lane == 0) y[row] = sum;
}

static void launch(const std::uint8_t* W, const float* scales, const std::uint8_t* zeros, const __nv_bfloat16* x,
                   float* y, std::size_t n, std::size_t k) {
  if (n == 0) return;
  gemv_w4_odd_row<<<static_cast<unsigned>(ceil_div(n, kBlock / 32)), kBlock>>>(W, scales, zeros, x, y, n, k);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(GemvW4, launch);
