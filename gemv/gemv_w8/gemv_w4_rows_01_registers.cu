// Problem:  m calls of gemv_w4 read W m times, and dequantize each weight m times.
// Idea:     a warp per row of W, as in gemv_w4 03. A lane dequantizes 32 weights into registers and multiplies them by
//           each row of X in turn. It has m sums.
// Expect:   0.08 to 0.15 of a read of W at 8x8192x64: 1024 of the 1042 sectors that a warp loads for 1024 weights are
//           X, eight times as many as in gemv_w4 03, and a weight takes 22 instructions (SASS).
// Measured: 0.11 of a read at 8x8192x64 (H200).
// Next:     what multiplies tiles, and shares X among 16 rows of W?
#include "block_reduce.cuh"
#include "gemv_w4_rows.cuh"
#include "sixteen_bytes.cuh"

constexpr int kBlock = 256, kGroup = 128;

// Converts eight weights, the first in the lowest bits, to w = q - zero. offset: 2^23 + zero.
__device__ static void dequantize(unsigned word, float offset, float* w) {
  const unsigned even = word & 0x0f0f0f0fu, odd = word >> 4 & 0x0f0f0f0fu;
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const unsigned bits = __byte_perm(i % 2 == 0 ? even : odd, __float_as_uint(offset), 0x7650 + i / 2);  // 2^23 + q
    w[i] = __uint_as_float(bits) - offset;
  }
}

// Returns sum plus eight w times eight x. BF16 is the upper half of a float.
__device__ static float dot8(const float* w, uint4 x, float sum) {
  const unsigned pairs[4] = {x.x, x.y, x.z, x.w};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    sum += w[2 * i] * __uint_as_float(pairs[i] << 16);
    sum += w[2 * i + 1] * __uint_as_float(pairs[i] & 0xffff0000u);
  }
  return sum;
}

// kRows: m rounded up to 1, 4, 8 or 16. Past m, the last row of X is loaded again and its sums are not stored.
template <int kRows, bool kAligned>
__global__ void __launch_bounds__(kBlock)
    gemv_w4_rows_registers(const std::uint8_t* __restrict__ W, const float* __restrict__ scales,
                           const std::uint8_t* __restrict__ zeros, const __nv_bfloat16* __restrict__ X,
                           float* __restrict__ Y, std::size_t m, std::size_t n, std::size_t groups) {
  const unsigned lane = threadIdx.x % 32;
  const std::size_t row = (std::size_t{blockIdx.x} * kBlock + threadIdx.x) / 32, k = groups * kGroup;
  if (row >= n) return;  // the whole warp returns
  float sums[kRows] = {};
  for (std::size_t c = lane; c < k / 32; c += 32) {
    const uint4 v = load_16_bytes<kAligned>(W + row * (k / 2) + 16 * c);
    const std::size_t group = row * groups + c / (kGroup / 32);
    const float offset = 8388608.0f + static_cast<float>(zeros[group]), scale = scales[group];
    float w[32];
    dequantize(v.x, offset, w);
    dequantize(v.y, offset, w + 8);
    dequantize(v.z, offset, w + 16);
    dequantize(v.w, offset, w + 24);
#pragma unroll
    for (unsigned i = 0; i < kRows; ++i) {
      const __nv_bfloat16* x = X + min(std::size_t{i}, m - 1) * k + 32 * c;
      float part = 0.0f;
#pragma unroll
      for (int j = 0; j < 32; j += 8) part = dot8(w + j, load_16_bytes<kAligned>(x + j), part);
      sums[i] += scale * part;
    }
  }
#pragma unroll
  for (unsigned i = 0; i < kRows; ++i) {
    const float sum = warp_sum_to_lane_0(sums[i]);
    if (lane == 0 && i < m) Y[i * n + row] = sum;
  }
}

template <bool kAligned>
static auto kernel_for(std::size_t m) {
  if (m == 1) return gemv_w4_rows_registers<1, kAligned>;
  if (m <= 4) return gemv_w4_rows_registers<4, kAligned>;
  return m <= 8 ? gemv_w4_rows_registers<8, kAligned> : gemv_w4_rows_registers<16, kAligned>;
}

static void launch(const std::uint8_t* W, const float* scales, const std::uint8_t* zeros, const __nv_bfloat16* X,
                   float* Y, std::size_t m, std::size_t n, std::size_t groups) {
  if (m == 0 || n == 0) return;
  const auto kernel = aligned_for<uint4>(W) && aligned_for<uint4>(X) ? kernel_for<true>(m) : kernel_for<false>(m);
  kernel<<<static_cast<unsigned>(ceil_div(n, kBlock / 32)), kBlock>>>(W, scales, zeros, X, Y, m, n, groups);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(GemvW4Rows, launch);
