// Problem:  each warp of step 03 loads and converts all of x for one row: two loads and 16 conversions for 16 weights.
// Idea:     a warp takes four rows, and loads and converts x once for them. The launch bounds allow 128 registers, so
//           that the loads of all four rows precede the first product (SASS).
// Expect:   1.0 to 1.3x step 03 at 8192x8192, 0.8 to 0.95 of a read of W. Slower at 4096 rows, which are only 1024
//           warps now. Registers allow 16 warps per SM, where step 03 may have 48.
// Measured: 1.09x step 03, 0.79 of a read at 8192x8192 (H200).
// Next:     4096 rows: what fills the GPU again? (The warps of a block share four rows and split k, as in gemv_05.) And
//           can a byte become a float without a conversion?
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
  for (int i = 0; i < 16; ++i) sum += static_cast<float>(static_cast<std::int8_t>(words[i / 4] >> i % 4 * 8)) * x[i];
  return sum;
}

__global__ void __launch_bounds__(kBlock, 2)
    gemv_w8_four_rows(const std::int8_t* __restrict__ W, const float* __restrict__ scales,
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
  gemv_w8_four_rows<<<blocks, kBlock>>>(W, scales, x, y, n, k, aligned);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(GemvW8, launch);
