// Problem:  step 04 has an I2F per weight (SASS), which ncu counts on the XU pipe. 16 per clock and SM, as for sine and
//           square root, would limit int8 weights to 4.2 TB/s (132 SMs, 1.98 GHz). ncu finds warps in `mio_throttle`.
// Idea:     make the float from the byte. Floats from 2^23 to 2^24 are the integers, so the byte w + 128 below the
//           exponent of 2^23 is 2^23 + 128 + w. One __byte_perm puts it there; subtracting 2^23 + 128 is exact.
// Expect:   1.0 to 1.3x step 04 at 8192x8192, if warps wait for conversions there; 1.0x where DRAM is the limit.
// Measured: 1.08x step 04, 0.85 of a read at 8192x8192 (H200).
// Next:     half the bytes again: four bits per weight (gemv_w4).
#include "block_reduce.cuh"
#include "gemv_w8.cuh"

constexpr int kBlock = 256, kGroup = 128, kRows = 4;

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
  for (int i = 0; i < 16; ++i) {
    // byte i % 4 with its sign bit flipped, which adds 128, below the bytes 0x4b, 0, 0
    const unsigned bits = __byte_perm(words[i / 4] ^ 0x80808080u, 0x4b000000u, 0x7440 + i % 4);
    sum += (__uint_as_float(bits) - 8388736.0f) * x[i];  // 2^23 + 128
  }
  return sum;
}

__global__ void __launch_bounds__(kBlock, 2)
    gemv_w8_no_conversion(const std::int8_t* __restrict__ W, const float* __restrict__ scales,
                          const __nv_bfloat16* __restrict__ x, float* __restrict__ y, std::size_t n, std::size_t k,
                          bool aligned) {
  const unsigned lane = threadIdx.x % 32;
  const std::size_t first = (std::size_t{blockIdx.x} * kBlock + threadIdx.x) / 32 * kRows;
  if (first >= n) return;
  std::size_t rows[kRows];
  for (int r = 0; r < kRows; ++r) rows[r] = first + r < n ? first + r : n - 1;  // past the end: the last row again
  const std::size_t groups = ceil_div(k, kGroup);
  const uint4* x8 = reinterpret_cast<const uint4*>(x);
  float sums[kRows] = {};
  for (std::size_t c = lane; c < (aligned ? k / 16 : 0); c += 32) {
    uint4 w[kRows];
#pragma unroll
    for (int r = 0; r < kRows; ++r) w[r] = *reinterpret_cast<const uint4*>(W + rows[r] * k + 16 * c);
    float x16[16];
    to_floats(x8[2 * c], x16);
    to_floats(x8[2 * c + 1], x16 + 8);
#pragma unroll
    for (int r = 0; r < kRows; ++r) sums[r] += scales[rows[r] * groups + c / (kGroup / 16)] * dot16(w[r], x16);
  }
  // unaligned rows, byte by byte
  for (std::size_t j = aligned ? k : lane; j < k; j += 32) {
    const float xj = __bfloat162float(x[j]);
#pragma unroll
    for (int r = 0; r < kRows; ++r) sums[r] += scales[rows[r] * groups + j / kGroup] * W[rows[r] * k + j] * xj;
  }
  for (int r = 0; r < kRows; ++r) {
    const float sum = warp_sum_to_lane_0(sums[r]);
    if (lane == 0 && first + r < n) y[first + r] = sum;
  }
}

static void launch(const std::int8_t* W, const float* scales, const __nv_bfloat16* x, float* y, std::size_t n,
                   std::size_t k) {
  if (n == 0) return;
  const bool aligned = k % 16 == 0 && aligned_for<uint4>(W) && aligned_for<uint4>(x);
  const auto blocks = static_cast<unsigned>(ceil_div(n, kBlock / 32 * kRows));
  gemv_w8_no_conversion<<<blocks, kBlock>>>(W, scales, x, y, n, k, aligned);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(GemvW8, launch);
