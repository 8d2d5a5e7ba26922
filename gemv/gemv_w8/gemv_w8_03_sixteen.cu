// Problem:  a lane of step 02 loads one byte of W at a time, and runs 16 instructions for it.
// Idea:     16 weights per lane and load, with 16 elements of x as two uint4. They are in one group, so their scale is
//           loaded and multiplied once for all of them. 4.7 instructions per weight (SASS).
// Expect:   1.5 to 3x step 02 at 8192x8192, 0.7 to 0.9 of a read of W. No gain where k % 16 isn't 0.
// Measured: 2.04x step 02, 0.73 of a read at 8192x8192 (H200).
// Next:     of 81 sectors that a warp loads for 512 weights, 64 are x. What else needs the same x?
#include "block_reduce.cuh"
#include "gemv_w8.cuh"

constexpr int kBlock = 256, kGroup = 128;

// Converts eight elements of x. BF16 is the upper half of a float, and the low half of a word is the first element.
__device__ static void to_floats(uint4 v, float* x) {
  const unsigned words[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    x[2 * i] = __uint_as_float(words[i] << 16);
    x[2 * i + 1] = __uint_as_float(words[i] & 0xffff0000u);
  }
}

__device__ static float dot16(uint4 w, const float* x) {
  const unsigned words[4] = {w.x, w.y, w.z, w.w};
  float sum = 0.0f;
#pragma unroll
  for (int i = 0; i < 16; ++i) sum += static_cast<float>(static_cast<std::int8_t>(words[i / 4] >> i % 4 * 8)) * x[i];
  return sum;
}

__global__ void gemv_w8_sixteen(const std::int8_t* __restrict__ W, const float* __restrict__ scales,
                                const __nv_bfloat16* __restrict__ x, float* __restrict__ y, std::size_t n,
                                std::size_t k, bool aligned) {
  const unsigned lane = threadIdx.x % 32;
  const std::size_t row = (std::size_t{blockIdx.x} * kBlock + threadIdx.x) / 32;
  if (row >= n) return;
  const std::int8_t* w = W + row * k;
  const float* scale = scales + row * ceil_div(k, kGroup);
  const uint4* x8 = reinterpret_cast<const uint4*>(x);
  float sum = 0.0f;
#pragma unroll 4
  for (std::size_t c = lane; c < (aligned ? k / 16 : 0); c += 32) {
    const uint4 w16 = *reinterpret_cast<const uint4*>(w + 16 * c);
    float x16[16];
    to_floats(x8[2 * c], x16);
    to_floats(x8[2 * c + 1], x16 + 8);
    sum += scale[c / (kGroup / 16)] * dot16(w16, x16);
  }
  // unaligned rows, byte by byte
#pragma unroll 4
  for (std::size_t j = aligned ? k : lane; j < k; j += 32) sum += scale[j / kGroup] * w[j] * __bfloat162float(x[j]);
  sum = warp_sum_to_lane_0(sum);
  if (lane == 0) y[row] = sum;
}

static void launch(const std::int8_t* W, const float* scales, const __nv_bfloat16* x, float* y, std::size_t n,
                   std::size_t k) {
  if (n == 0) return;
  const bool aligned = k % 16 == 0 && aligned_for<uint4>(W) && aligned_for<uint4>(x);
  gemv_w8_sixteen<<<static_cast<unsigned>(ceil_div(n, kBlock / 32)), kBlock>>>(W, scales, x, y, n, k, aligned);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(GemvW8, launch);
