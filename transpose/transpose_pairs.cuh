// Tiles that swap places in pairs: their order, and the kernel for rows that are 16-byte aligned, as
// transpose_inplace_02 introduces them, for transpose_inplace 02 and 03.
#pragma once
#include "transpose_inplace.cuh"

namespace transpose_pairs {

// Pair number `block` of tiles (i, j), i <= j, of a square of tiles x tiles: the triangle on and above the diagonal, cut
// at half its height and folded, is a rectangle. Row i of the triangle has tiles - i tiles, and a row of the rectangle
// is filled up with the row of the triangle that has as many as are missing.
__device__ inline void find_pair(unsigned block, unsigned tiles, unsigned& i, unsigned& j) {
  const unsigned width = tiles | 1;  // the rectangle's: tiles, or one more if that is even
  i = block / width;
  j = i + block % width;
  if (j >= tiles) {
    const unsigned column = j - tiles;
    i = 2 * tiles - width - i;
    j = i + column;
  }
}
inline unsigned pairs(std::size_t tiles) { return static_cast<unsigned>(tiles * (tiles + 1) / 2); }

constexpr int kTile = 64;
constexpr int kBlock = 256;
constexpr int kLoads = kTile * kTile / 4 / kBlock;  // float4 per thread and tile

// n is a multiple of 4, the address of a one of 16 bytes. The 1 in __launch_bounds__ (blocks per SM) leaves nvcc enough
// registers to have all loads in flight. __stcg: one 16-byte store, which nvcc would split, that stays in L2.
__global__ void __launch_bounds__(kBlock, 1) transpose_pairs_float4(float* a, std::size_t n, unsigned tiles) {
  __shared__ float upper[kTile][kTile + 1], lower[kTile][kTile + 1];
  unsigned i, j;
  find_pair(blockIdx.x, tiles, i, j);
  const std::size_t row0 = std::size_t{i} * kTile, col0 = std::size_t{j} * kTile;
  const int x = threadIdx.x % 8 * 4 + threadIdx.x / 32 % 2 * 32;  // a warp: 8 float4 in each of 4 rows,
  const int y = threadIdx.x / 8 % 4 + threadIdx.x / 64 * 4;       // the block: 16 rows of 64 floats at a time
  const auto at = [=](std::size_t row, std::size_t col) { return reinterpret_cast<float4*>(&a[row * n + col]); };
  const auto store_words = [](float* to, float4 v) { to[0] = v.x, to[1] = v.y, to[2] = v.z, to[3] = v.w; };

  // load both tiles
  float4 u[kLoads], l[kLoads];
#pragma unroll
  for (int k = 0; k < kLoads; ++k) {
    const int r = y + 16 * k, c = x;
    if (row0 + r < n && col0 + c < n) u[k] = *at(row0 + r, col0 + c);
    if (col0 + r < n && row0 + c < n) l[k] = *at(col0 + r, row0 + c);
  }
#pragma unroll
  for (int k = 0; k < kLoads; ++k) {
    const int r = y + 16 * k, c = x;
    store_words(&upper[r][c], u[k]);
    store_words(&lower[r][c], l[k]);
  }
  __syncthreads();
  // store each to the other's place
#pragma unroll
  for (int k = 0; k < kLoads; ++k) {
    const int r = y + 16 * k, c = x;
    const auto column = [=](const auto& tile) {
      return make_float4(tile[c][r], tile[c + 1][r], tile[c + 2][r], tile[c + 3][r]);
    };
    if (row0 + r < n && col0 + c < n) __stcg(at(row0 + r, col0 + c), column(lower));
    if (col0 + r < n && row0 + c < n) __stcg(at(col0 + r, row0 + c), column(upper));
  }
}

// n > 0.
inline void launch_float4(float* a, std::size_t n) {
  const unsigned tiles = ceil_div(n, kTile);
  transpose_pairs_float4<<<pairs(tiles), kBlock>>>(a, n, tiles);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace transpose_pairs
