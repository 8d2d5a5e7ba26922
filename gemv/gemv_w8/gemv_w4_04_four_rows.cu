// Problem:  in step 03 each warp loads and converts all of x for one row: 128 of 146 sectors for 1024 weights, and one
//           of 5 instructions.
// Idea:     a warp takes four rows, as in gemv_w8 04, and loads and converts x once for them.
// Expect:   1.1 to 1.5x step 03 at 8192x8192, 0.7 to 0.9 of a read of W: 50 sectors for 1024 weights instead of 146,
//           4.1 instructions per weight (SASS) instead of 5.1. No faster at 4096 rows, which are only 1024 warps.
// Measured: 1.25x step 03, 0.74 of a read at 8192x8192 (H200).
// Next:     a batch: several vectors x at once (gemv_w4_rows).
#include "block_reduce.cuh"
#include "gemv_w4.cuh"

constexpr int kBlock = 256, kGroup = 128, kRows = 4;

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

__global__ void __launch_bounds__(kBlock)
    gemv_w4_four_rows(const std::uint8_t* __restrict__ W, const float* __restrict__ scales,
                      const std::uint8_t* __restrict__ zeros, const __nv_bfloat16* __restrict__ x,
                      float* __restrict__ y, std::size_t n, std::size_t k, bool aligned) {
  const unsigned lane = threadIdx.x % 32;
  const std::size_t first = (std::size_t{blockIdx.x} * kBlock + threadIdx.x) / 32 * kRows;
  if (first >= n) return;
  std::size_t rows[kRows];
  for (int r = 0; r < kRows; ++r) rows[r] = first + r < n ? first + r : n - 1;  // past the end: the last row again
  const std::size_t groups = ceil_div(k, kGroup), row_bytes = ceil_div(k, 2);
  float sums[kRows] = {};
  for (std::size_t c = lane; c < (aligned ? k / 32 : 0); c += 32) {
    uint4 v[kRows], x8[4];
#pragma unroll
    for (int r = 0; r < kRows; ++r) v[r] = *reinterpret_cast<const uint4*>(W + rows[r] * row_bytes + 16 * c);
#pragma unroll
    for (int i = 0; i < 4; ++i) x8[i] = reinterpret_cast<const uint4*>(x)[4 * c + i];
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const std::size_t group = rows[r] * groups + c / (kGroup / 32);
      const float offset = 8388608.0f + static_cast<float>(zeros[group]);
      float part = dot8(v[r].x, offset, x8[0], 0.0f);
      part = dot8(v[r].y, offset, x8[1], part);
      part = dot8(v[r].z, offset, x8[2], part);
      part = dot8(v[r].w, offset, x8[3], part);
      sums[r] += scales[group] * part;
    }
  }
  // unaligned rows, byte by byte
  for (std::size_t j = aligned ? k : 2 * lane; j < k; j += 64) {
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const std::size_t group = rows[r] * groups + j / kGroup;
      const int byte = W[rows[r] * row_bytes + j / 2], zero = zeros[group];
      float part = static_cast<float>((byte & 15) - zero) * __bfloat162float(x[j]);
      if (j + 1 < k) part += static_cast<float>((byte >> 4) - zero) * __bfloat162float(x[j + 1]);
      sums[r] += scales[group] * part;
    }
  }
  for (int r = 0; r < kRows; ++r) {
    const float sum = warp_sum_to_lane_0(sums[r]);
    if (lane == 0 && first + r < n) y[first + r] = sum;
  }
}

static void launch(const std::uint8_t* W, const float* scales, const std::uint8_t* zeros, const __nv_bfloat16* x,
                   float* y, std::size_t n, std::size_t k) {
  if (n == 0) return;
  const bool aligned = k % 32 == 0 && aligned_for<uint4>(W) && aligned_for<uint4>(x);
  const auto blocks = static_cast<unsigned>(ceil_div(n, kBlock / 32 * kRows));
  gemv_w4_four_rows<<<blocks, kBlock>>>(W, scales, zeros, x, y, n, k, aligned);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(GemvW4, launch);
