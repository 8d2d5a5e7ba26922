// Problem:  a lane of step 01 loads one byte of W at a time, and a scale and a zero point for every two weights.
// Idea:     32 weights per lane and load, a uint4, with their x as four uint4. They are in one group.
// Expect:   2 to 4x step 01 at 8192x8192, 0.3 to 0.7 of a read of W: 6.3 instructions per weight (SASS), where a read
//           leaves 3.8 issue slots (H200) or 5.4 (H100).
// Measured: 2.91x step 01, 0.57 of a read at 8192x8192 (H200).
// Next:     what does a weight cost in instructions, and can a float be made of four bits without a conversion?
#include "block_reduce.cuh"
#include "gemv_w4.cuh"

constexpr int kBlock = 256, kGroup = 128;

// Returns sum plus eight weights, the first in the lowest bits, times eight x. BF16 is the upper half of a float.
__device__ static float dot8(unsigned w, int zero, uint4 x, float sum) {
  const unsigned pairs[4] = {x.x, x.y, x.z, x.w};
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const float xi = __uint_as_float(i % 2 == 0 ? pairs[i / 2] << 16 : pairs[i / 2] & 0xffff0000u);
    sum += static_cast<float>(static_cast<int>(w >> 4 * i & 15) - zero) * xi;
  }
  return sum;
}

__global__ void gemv_w4_vectors(const std::uint8_t* __restrict__ W, const float* __restrict__ scales,
                                const std::uint8_t* __restrict__ zeros, const __nv_bfloat16* __restrict__ x,
                                float* __restrict__ y, std::size_t n, std::size_t k, bool aligned) {
  const unsigned lane = threadIdx.x % 32;
  const std::size_t row = (std::size_t{blockIdx.x} * kBlock + threadIdx.x) / 32, groups = ceil_div(k, kGroup);
  if (row >= n) return;
  const std::uint8_t* w = W + row * ceil_div(k, 2);
  float sum = 0.0f;
#pragma unroll 2
  for (std::size_t c = lane; c < (aligned ? k / 32 : 0); c += 32) {
    const uint4 v = reinterpret_cast<const uint4*>(w)[c];
    const uint4* x8 = reinterpret_cast<const uint4*>(x) + 4 * c;
    const std::size_t group = row * groups + c / (kGroup / 32);
    const int zero = zeros[group];
    float part = dot8(v.x, zero, x8[0], 0.0f);
    part = dot8(v.y, zero, x8[1], part);
    part = dot8(v.z, zero, x8[2], part);
    part = dot8(v.w, zero, x8[3], part);
    sum += scales[group] * part;
  }
  // unaligned rows, byte by byte
  for (std::size_t j = aligned ? k : 2 * lane; j < k; j += 64) {
    const std::size_t group = row * groups + j / kGroup;
    const int byte = w[j / 2], zero = zeros[group];
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
  const bool aligned = k % 32 == 0 && aligned_for<uint4>(W) && aligned_for<uint4>(x);
  gemv_w4_vectors<<<static_cast<unsigned>(ceil_div(n, kBlock / 32)), kBlock>>>(W, scales, zeros, x, y, n, k, aligned);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(GemvW4, launch);
