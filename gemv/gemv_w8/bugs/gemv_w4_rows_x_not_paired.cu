// bug: W's pairs are weights i and i + 4 of a word, X's are neighbours: their orders of k differ
// caught by: cpu forward | is wrong
// caught by: gpu | is wrong
// stage: right
// needs: sm_80
#include "../gemv_w4_rows.cuh"
#include "../sixteen_bytes.cuh"
#include "tensor_core.cuh"

constexpr int kWarps = 8, kBlock = 32 * kWarps, kGroup = 128;

// A row's weights that a lane has of a group, and what the group has.
struct Weights {
  uint4 q;
  float scale;
  unsigned zero;
};

// Weights `pair` and pair + 4 of eight, less their zero point. offset: 0x4300 + zero, twice.
__device__ static unsigned dequantize(unsigned word, int pair, unsigned offset) {
  const unsigned bits = (word >> 4 * pair & 0x000f000fu) | 0x43004300u;
  const __nv_bfloat162 difference =
      __hsub2(reinterpret_cast<const __nv_bfloat162&>(bits), reinterpret_cast<const __nv_bfloat162&>(offset));
  return reinterpret_cast<const unsigned&>(difference);
}

// Elements 2 pair and 2 pair + 1 of eight.
__device__ static unsigned pair_of(const uint4& x, int pair) {
  const unsigned pairs[4] = {x.x, x.y, x.z, x.w};
  return pairs[pair];
}

// kTiles: of eight rows of X. With g = lane / 4 and t = lane % 4 a lane has rows g and g + 8 of a block's 16 of W, row g
// of each tile of X, and of a group's 128 k those from 32 t on. Past n and m the last rows are loaded again and their
// sums are not stored.
template <int kTiles, bool kAligned>
__global__ void __launch_bounds__(kBlock)
    gemv_w4_rows_x_not_paired(const std::uint8_t* __restrict__ W, const float* __restrict__ scales,
                              const std::uint8_t* __restrict__ zeros, const __nv_bfloat16* __restrict__ X,
                              float* __restrict__ Y, std::size_t m, std::size_t n, std::size_t groups) {
  __shared__ float parts[kWarps][8 * kTiles][16];  // of 8 * kTiles rows of Y
  const unsigned g = threadIdx.x % 32 / 4, t = threadIdx.x % 4, warp = threadIdx.x / 32;
  const std::size_t row0 = std::size_t{blockIdx.x} * 16, k = groups * kGroup;
  const std::size_t first[2] = {min(row0 + g, n - 1) * groups, min(row0 + g + 8, n - 1) * groups};
  const __nv_bfloat16* x_rows[kTiles];
#pragma unroll
  for (int tile = 0; tile < kTiles; ++tile) x_rows[tile] = X + min(std::size_t{8 * tile + g}, m - 1) * k + 32 * t;
  Weights next[2];
  const auto load = [&](unsigned group) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const std::size_t at = first[h] + group;
      next[h] = {load_16_bytes<kAligned>(W + at * (kGroup / 2) + 16 * t), scales[at], zeros[at]};
    }
  };
  if (warp < groups) load(warp);
  float sums[kTiles][4] = {};  // [0], [1]: row g of W, rows 2 t and 2 t + 1 of the tile; [2], [3]: row g + 8
  for (unsigned group = warp; group < groups; group += kWarps) {
    const Weights now[2] = {next[0], next[1]};
    if (group + kWarps < groups) load(group + kWarps);
    const unsigned words[4][2] = {
        {now[0].q.x, now[1].q.x}, {now[0].q.y, now[1].q.y}, {now[0].q.z, now[1].q.z}, {now[0].q.w, now[1].q.w}};
    const unsigned offsets[2] = {0x43004300u + now[0].zero * 0x00010001u, 0x43004300u + now[1].zero * 0x00010001u};
    float part[kTiles][4] = {};
#pragma unroll
    for (int j = 0; j < 4; ++j) {  // eight weights of each row
      uint4 x[kTiles];
#pragma unroll
      for (int tile = 0; tile < kTiles; ++tile) {
        x[tile] = load_16_bytes<kAligned>(x_rows[tile] + std::size_t{group} * kGroup + 8 * j);
      }
#pragma unroll
      for (int pair = 0; pair < 4; pair += 2) {
        unsigned a[4];
#pragma unroll
        for (int i = 0; i < 4; ++i) a[i] = dequantize(words[j][i % 2], pair + i / 2, offsets[i % 2]);
#pragma unroll
        for (int tile = 0; tile < kTiles; ++tile) {
          mma_m16n8k16_bf16(part[tile], a, pair_of(x[tile], pair), pair_of(x[tile], pair + 1));
        }
      }
    }
#pragma unroll
    for (int i = 0; i < 4 * kTiles; ++i) sums[i / 4][i % 4] += now[i % 4 / 2].scale * part[i / 4][i % 4];
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
  const bool aligned = aligned_for<uint4>(W) && aligned_for<uint4>(X);
  const auto kernel = m <= 8 ? (aligned ? gemv_w4_rows_x_not_paired<1, true> : gemv_w4_rows_x_not_paired<1, false>)
                             : (aligned ? gemv_w4_rows_x_not_paired<2, true> : gemv_w4_rows_x_not_paired<2, false>);
  kernel<<<static_cast<unsigned>(ceil_div(n, 16)), kBlock>>>(W, scales, zeros, X, Y, m, n, groups);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(GemvW4Rows, launch);
