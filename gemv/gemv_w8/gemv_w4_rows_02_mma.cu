// Problem:  each warp of step 01 loads all of X for one row of W, and converts and multiplies element by element.
// Idea:     tensor cores. 16 rows of W are the A operand of an mma, eight rows of X its B operand. q - zero is exact in
//           BF16; the scale multiplies a group's sums. A block's 8 warps take turns at the groups of 16 rows.
// Expect:   2 to 4x step 01 at 8x8192x64: 202 sectors for 1024 weights, not 1042, 4.8 instructions per weight (SASS),
//           not 22. But most loads come right before their mma. Slower at one row: an mma has eight columns.
// Measured: 2.13x step 01, 0.23 of a read at 8x8192x64 (H200).
// Next:     a fragment has four weights of a row, in two bytes. Which four could a lane get by a wider load?
// needs: sm_80
#include "gemv_w4_rows.cuh"
#include "tensor_core.cuh"

constexpr int kWarps = 8, kBlock = 32 * kWarps, kGroup = 128;

// Returns two weights, less their zero point, in BF16. BF16 numbers from 128 to 256 are the integers:
// 0x4300 + q is 128 + q. offset: 0x4300 + zero, twice.
__device__ static unsigned dequantize(unsigned byte, unsigned offset) {
  const unsigned bits = (byte & 15) | byte >> 4 << 16 | 0x43004300u;
  const __nv_bfloat162 w =
      __hsub2(reinterpret_cast<const __nv_bfloat162&>(bits), reinterpret_cast<const __nv_bfloat162&>(offset));
  return reinterpret_cast<const unsigned&>(w);
}

template <bool kAligned>
__device__ static unsigned load_pair(const __nv_bfloat16* x) {
  if constexpr (kAligned) return *reinterpret_cast<const unsigned*>(x);
  return __bfloat16_as_ushort(x[0]) | unsigned{__bfloat16_as_ushort(x[1])} << 16;
}

// kTiles: tiles of eight rows of X. With g = lane / 4 and t = lane % 4, a lane has rows g and g + 8 of a block's 16 of
// W, and row g of each tile of X. Past n and m, the last rows are loaded again and their sums are not stored.
template <int kTiles, bool kAligned>
__global__ void __launch_bounds__(kBlock)
    gemv_w4_rows_mma(const std::uint8_t* __restrict__ W, const float* __restrict__ scales,
                     const std::uint8_t* __restrict__ zeros, const __nv_bfloat16* __restrict__ X, float* __restrict__ Y,
                     std::size_t m, std::size_t n, std::size_t groups) {
  __shared__ float parts[kWarps][8 * kTiles][16];  // sums for 8 * kTiles rows of Y
  const unsigned g = threadIdx.x % 32 / 4, t = threadIdx.x % 4, warp = threadIdx.x / 32;
  const std::size_t row0 = std::size_t{blockIdx.x} * 16, k = groups * kGroup;
  const std::size_t first[2] = {min(row0 + g, n - 1) * groups, min(row0 + g + 8, n - 1) * groups};
  const __nv_bfloat16* x_rows[kTiles];
#pragma unroll
  for (int tile = 0; tile < kTiles; ++tile) x_rows[tile] = X + min(std::size_t{8 * tile + g}, m - 1) * k + 2 * t;
  float sums[kTiles][4] = {};  // [0], [1]: row g of W, rows 2 t and 2 t + 1 of the tile; [2], [3]: row g + 8
  for (std::size_t group = warp; group < groups; group += kWarps) {
    const std::size_t at[2] = {first[0] + group, first[1] + group};
    const unsigned offsets[2] = {0x43004300u + zeros[at[0]] * 0x00010001u, 0x43004300u + zeros[at[1]] * 0x00010001u};
    float part[kTiles][4] = {};
#pragma unroll
    for (int j = 0; j < kGroup; j += 16) {
      unsigned a[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        a[i] = dequantize(W[at[i % 2] * (kGroup / 2) + j / 2 + t + i / 2 * 4], offsets[i % 2]);
      }
#pragma unroll
      for (int tile = 0; tile < kTiles; ++tile) {
        const __nv_bfloat16* x = x_rows[tile] + group * kGroup + j;
        mma_m16n8k16_bf16(part[tile], a, load_pair<kAligned>(x), load_pair<kAligned>(x + 8));
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
  Y[x_row * n + row0 + row] = sum;
}

static void launch(const std::uint8_t* W, const float* scales, const std::uint8_t* zeros, const __nv_bfloat16* X,
                   float* Y, std::size_t m, std::size_t n, std::size_t groups) {
  if (m == 0 || n == 0) return;
  const bool aligned = aligned_for<unsigned>(X);
  const auto kernel = m <= 8 ? (aligned ? gemv_w4_rows_mma<1, true> : gemv_w4_rows_mma<1, false>)
                             : (aligned ? gemv_w4_rows_mma<2, true> : gemv_w4_rows_mma<2, false>);
  kernel<<<static_cast<unsigned>(ceil_div(n, 16)), kBlock>>>(W, scales, zeros, X, Y, m, n, groups);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(GemvW4Rows, launch);
