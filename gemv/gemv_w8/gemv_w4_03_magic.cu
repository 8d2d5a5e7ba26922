// Problem:  step 02 has 6.3 instructions per weight, more than the issue slots that a read leaves: two to extract it,
//           one for the zero point, one to convert it, one for its x, an FMA.
// Idea:     no conversion. Floats from 2^23 to 2^24 are the integers. One mask extracts four weights of a word; one
//           __byte_perm puts each below the exponent of 2^23, which makes 2^23 + q; subtracting 2^23 + zero is exact.
// Expect:   1.0 to 1.2x step 02 at 8192x8192: 5.1 instructions per weight (SASS). The loads of x stay, four per lane
//           for 32 weights, and L1 is as near its peak as the issue slots.
// Measured: 1.04x step 02, 0.59 of a read at 8192x8192 (H200).
// Next:     x is 128 of 146 sectors that a warp loads for 1024 weights, and one of 5 instructions. Which step of
//           gemv_w8 helps?
#include "block_reduce.cuh"
#include "gemv_w4.cuh"

constexpr int kBlock = 256, kGroup = 128;

// Returns sum plus eight weights, the first in the lowest bits, times eight x. BF16 is the upper half of a float.
// offset: 2^23 + zero.
__device__ static float dot8(unsigned w, float offset, uint4 x, float sum) {
  const unsigned pairs[4] = {x.x, x.y, x.z, x.w};
  const unsigned even = w & 0x0f0f0f0fu, odd = w >> 4 & 0x0f0f0f0fu;
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const float xi = __uint_as_float(i % 2 == 0 ? pairs[i / 2] << 16 : pairs[i / 2] & 0xffff0000u);
    // byte i / 2 below the upper bytes of the offset, 0x4b, 0 and 0
    const unsigned bits = __byte_perm(i % 2 == 0 ? even : odd, __float_as_uint(offset), 0x7650 + i / 2);
    sum += (__uint_as_float(bits) - offset) * xi;
  }
  return sum;
}

__global__ void gemv_w4_magic(const std::uint8_t* __restrict__ W, const float* __restrict__ scales,
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
    const float offset = 8388608.0f + static_cast<float>(zeros[group]);
    float part = dot8(v.x, offset, x8[0], 0.0f);
    part = dot8(v.y, offset, x8[1], part);
    part = dot8(v.z, offset, x8[2], part);
    part = dot8(v.w, offset, x8[3], part);
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
  gemv_w4_magic<<<static_cast<unsigned>(ceil_div(n, kBlock / 32)), kBlock>>>(W, scales, zeros, x, y, n, k, aligned);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(GemvW4, launch);
