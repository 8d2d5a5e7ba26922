// Problem:  step 03 takes 15 instructions for eight weights of a word: 3 shifts, 4 masks, 4 ORs, 4 subtractions.
// Idea:     a nibble is a subnormal BF16 number as it stands: bits N < 256 mean N * 2^-133. One fma multiplies by 2^127
//           and subtracts zero / 64, exactly; Y is multiplied by 64. Bits 4 to 7 take 2^123 instead of a shift.
// Expect:   0.9 to 1.2x step 03 at 8x8192x64: 2.7 instructions per weight (SASS) instead of 3.4, and the same loads.
//           But two of four loads of X come after the third mma (SASS), so a warp waits twice for a group's loads.
// Measured: 0.93x step 03, 0.62 of a read at 8x8192x64 (H200).
// Next:     X is loaded for each 16 rows of W, 64 of 90 sectors. What halves that? (Two A fragments for each B.)
// needs: sm_80
#include "gemv_w4_rows.cuh"
#include "sixteen_bytes.cuh"
#include "tensor_core.cuh"

constexpr int kWarps = 8, kBlock = 32 * kWarps, kGroup = 128;

// Returns weights `pair` and pair + 4 of eight, less their zero point, divided by 64. BF16 numbers below 2^-125 are
// 2^-133 apart, so the bits of N < 256 mean N * 2^-133. N is q in bits 0 to 3, 16 q in bits 4 to 7. less: -zero / 64.
__device__ static unsigned dequantize(unsigned word, int pair, __nv_bfloat162 less) {
  const unsigned bits = (pair < 2 ? word : word >> 8) & (pair % 2 == 0 ? 0x000f000fu : 0x00f000f0u);
  const unsigned factor = pair % 2 == 0 ? 0x7f007f00u : 0x7d007d00u;  // 2^127, 2^123
  const __nv_bfloat162 w =
      __hfma2(reinterpret_cast<const __nv_bfloat162&>(bits), reinterpret_cast<const __nv_bfloat162&>(factor), less);
  return reinterpret_cast<const unsigned&>(w);
}

// Returns elements `pair` and pair + 4 of eight.
__device__ static unsigned pair_of(const uint4& x, int pair) {
  return __byte_perm(pair < 2 ? x.x : x.y, pair < 2 ? x.z : x.w, pair % 2 == 0 ? 0x5410 : 0x7632);
}

// kTiles: tiles of eight rows of X. With g = lane / 4 and t = lane % 4, a lane has rows g and g + 8 of a block's 16 of
// W, and row g of each tile of X. Of a group's 128 k it has those from 32 t on. Past n and m, the last rows are loaded
// again and their sums are not stored.
template <int kTiles, bool kAligned>
__global__ void __launch_bounds__(kBlock)
    gemv_w4_rows_subnormals(const std::uint8_t* __restrict__ W, const float* __restrict__ scales,
                            const std::uint8_t* __restrict__ zeros, const __nv_bfloat16* __restrict__ X,
                            float* __restrict__ Y, std::size_t m, std::size_t n, std::size_t groups) {
  __shared__ float parts[kWarps][8 * kTiles][16];  // sums for 8 * kTiles rows of Y
  const unsigned g = threadIdx.x % 32 / 4, t = threadIdx.x % 4, warp = threadIdx.x / 32;
  const std::size_t row0 = std::size_t{blockIdx.x} * 16, k = groups * kGroup;
  const std::size_t first[2] = {min(row0 + g, n - 1) * groups, min(row0 + g + 8, n - 1) * groups};
  const __nv_bfloat16* x_rows[kTiles];
#pragma unroll
  for (int tile = 0; tile < kTiles; ++tile) x_rows[tile] = X + min(std::size_t{8 * tile + g}, m - 1) * k + 32 * t;
  uint4 next[2];
  const auto load = [&](std::size_t group) {
#pragma unroll
    for (int h = 0; h < 2; ++h) next[h] = load_16_bytes<kAligned>(W + (first[h] + group) * (kGroup / 2) + 16 * t);
  };
  if (warp < groups) load(warp);
  float sums[kTiles][4] = {};  // [0], [1]: row g of W, rows 2 t and 2 t + 1 of the tile; [2], [3]: row g + 8
  for (std::size_t group = warp; group < groups; group += kWarps) {
    const std::size_t at[2] = {first[0] + group, first[1] + group};
    const __nv_bfloat162 less[2] = {__float2bfloat162_rn(-static_cast<float>(zeros[at[0]]) / 64),
                                    __float2bfloat162_rn(-static_cast<float>(zeros[at[1]]) / 64)};
    const unsigned words[4][2] = {
        {next[0].x, next[1].x}, {next[0].y, next[1].y}, {next[0].z, next[1].z}, {next[0].w, next[1].w}};
    if (group + kWarps < groups) load(group + kWarps);
    float part[kTiles][4] = {};
    uint4 x[kTiles] = {};
#pragma unroll
    for (int j = 0; j < 8; ++j) {  // half a word of each row, which is four weights
      const int pair = j % 2 * 2;
      unsigned a[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) a[i] = dequantize(words[j / 2][i % 2], pair + i / 2, less[i % 2]);
#pragma unroll
      for (int tile = 0; tile < kTiles; ++tile) {
        if (pair == 0) x[tile] = load_16_bytes<kAligned>(x_rows[tile] + group * kGroup + j / 2 * 8);
        mma_m16n8k16_bf16(part[tile], a, pair_of(x[tile], pair), pair_of(x[tile], pair + 1));
      }
    }
    const float scale[2] = {scales[at[0]], scales[at[1]]};
#pragma unroll
    for (int i = 0; i < 4 * kTiles; ++i) sums[i / 4][i % 4] += scale[i % 4 / 2] * part[i / 4][i % 4];
  }
  // add the warps' sums
#pragma unroll
  for (int i = 0; i < 4 * kTiles; ++i) parts[warp][i / 4 * 8 + 2 * t + i % 2][g + i % 4 / 2 * 8] = sums[i / 4][i % 4];
  __syncthreads();
  const unsigned x_row = threadIdx.x / 16, row = threadIdx.x % 16;
  if (x_row >= m || x_row >= 8 * kTiles || row0 + row >= n) return;
  float sum = 0.0f;
  for (int w = 0; w < kWarps; ++w) sum += parts[w][x_row][row];
  Y[x_row * n + row0 + row] = 64 * sum;
}

static void launch(const std::uint8_t* W, const float* scales, const std::uint8_t* zeros, const __nv_bfloat16* X,
                   float* Y, std::size_t m, std::size_t n, std::size_t groups) {
  if (m == 0 || n == 0) return;
  const bool aligned = aligned_for<uint4>(W) && aligned_for<uint4>(X);
  const auto kernel = m <= 8 ? (aligned ? gemv_w4_rows_subnormals<1, true> : gemv_w4_rows_subnormals<1, false>)
                             : (aligned ? gemv_w4_rows_subnormals<2, true> : gemv_w4_rows_subnormals<2, false>);
  kernel<<<static_cast<unsigned>(ceil_div(n, 16)), kBlock>>>(W, scales, zeros, X, Y, m, n, groups);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(GemvW4Rows, launch);
