// Tiles that swap places in pairs: their order, the kernels of transpose_inplace_02, and what transpose_inplace_03 adds
// to them: groups of tiles, and loads of whole lines.
#pragma once
#include "transpose_inplace.cuh"

#include <cuda_pipeline.h>

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

// The same where kGroup x kGroup tiles follow one another. False if block `block` has no pair: its group reaches below
// the diagonal or out of the square.
template <unsigned kGroup>
__device__ bool find_pair_in_groups(unsigned block, unsigned tiles, unsigned& i, unsigned& j) {
  find_pair(block / (kGroup * kGroup), (tiles + kGroup - 1) / kGroup, i, j);
  i = i * kGroup + block / kGroup % kGroup;
  j = j * kGroup + block % kGroup;
  return i <= j && j < tiles;
}
template <unsigned kGroup>
unsigned blocks_in_groups(std::size_t tiles) {
  return pairs(ceil_div(tiles, kGroup)) * kGroup * kGroup;
}

// Two loads of 16 bytes, the second as an asynchronous copy into shared memory. What L2 lacks it fetches with the whole
// line of 128 bytes, not only the sectors asked for.
__device__ inline float4 load_with_line(const float4* from) {
#ifndef CUDA_EMU
  float4 v;
  asm volatile("ld.global.L2::128B.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
               : "l"(__cvta_generic_to_global(from))
               : "memory");
  return v;
#else
  return *from;
#endif
}
__device__ inline void copy_with_line(float* to, const float* from) {
#ifndef CUDA_EMU
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;"
               :
               : "r"(static_cast<unsigned>(__cvta_generic_to_shared(to))), "l"(__cvta_generic_to_global(from))
               : "memory");
#else
  __pipeline_memcpy_async(to, from, sizeof(float4));
#endif
#else
  __pipeline_memcpy_async(to, from, sizeof(float4));
#endif
}

constexpr int kTile = 64;
constexpr int kBlock = 256;
constexpr int kLoads = kTile * kTile / 4 / kBlock;  // float4 per thread and tile
constexpr unsigned kPairGroup = 2;

// n is a multiple of 4, the address of a one of 16 bytes. The 1 in __launch_bounds__ (blocks per SM) leaves nvcc enough
// registers to have all loads in flight. __stcg: one 16-byte store, which nvcc would split, that stays in L2.
// kCutLines: as transpose_inplace_03 takes it, for rows that need not begin at a line; else as 02 does.
template <bool kCutLines>
__global__ void __launch_bounds__(kBlock, 1) transpose_pairs_float4(float* a, std::size_t n, unsigned tiles) {
  __shared__ float upper[kTile][kTile + 1], lower[kTile][kTile + 1];
  unsigned i, j;
  if (!kCutLines) {
    find_pair(blockIdx.x, tiles, i, j);
  } else if (!find_pair_in_groups<kPairGroup>(blockIdx.x, tiles, i, j)) {
    return;  // the whole block
  }
  const std::size_t row0 = std::size_t{i} * kTile, col0 = std::size_t{j} * kTile;
  const int x = threadIdx.x % 8 * 4 + threadIdx.x / 32 % 2 * 32;  // a warp: 8 float4 in each of 4 rows,
  const int y = threadIdx.x / 8 % 4 + threadIdx.x / 64 * 4;       // the block: 16 rows of 64 floats at a time
  const auto at = [=](std::size_t row, std::size_t col) { return reinterpret_cast<float4*>(&a[row * n + col]); };
  const auto load = [=](const float4* from) { return kCutLines ? load_with_line(from) : *from; };
  const auto store_words = [](float* to, float4 v) { to[0] = v.x, to[1] = v.y, to[2] = v.z, to[3] = v.w; };

  // load both tiles
  float4 u[kLoads], l[kLoads];
#pragma unroll
  for (int k = 0; k < kLoads; ++k) {
    const int r = y + 16 * k, c = x;
    if (row0 + r < n && col0 + c < n) u[k] = load(at(row0 + r, col0 + c));
    if (col0 + r < n && row0 + c < n) l[k] = load(at(col0 + r, row0 + c));
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

// As transpose_pairs_float4, by floats. A tile on the diagonal is stored twice, with the same values.
constexpr int kElements = kTile * kTile / kBlock;  // floats per thread and tile
__global__ void __launch_bounds__(kBlock, 1) transpose_pairs_scalar(float* a, std::size_t n, unsigned tiles) {
  __shared__ float upper[kTile][kTile + 1], lower[kTile][kTile + 1];
  unsigned i, j;
  find_pair(blockIdx.x, tiles, i, j);
  const std::size_t row0 = std::size_t{i} * kTile, col0 = std::size_t{j} * kTile;
  const int c = threadIdx.x % kTile, y = threadIdx.x / kTile;

  // load both tiles
  float u[kElements] = {}, l[kElements] = {};
#pragma unroll
  for (int k = 0; k < kElements; ++k) {
    const int r = y + k * (kBlock / kTile);
    if (row0 + r < n && col0 + c < n) u[k] = a[(row0 + r) * n + col0 + c];
    if (col0 + r < n && row0 + c < n) l[k] = a[(col0 + r) * n + row0 + c];
  }
#pragma unroll
  for (int k = 0; k < kElements; ++k) {
    const int r = y + k * (kBlock / kTile);
    upper[r][c] = u[k];
    lower[r][c] = l[k];
  }
  __syncthreads();
  // store each to the other's place
#pragma unroll
  for (int k = 0; k < kElements; ++k) {
    const int r = y + k * (kBlock / kTile);
    if (row0 + r < n && col0 + c < n) a[(row0 + r) * n + col0 + c] = lower[c][r];
    if (col0 + r < n && row0 + c < n) a[(col0 + r) * n + row0 + c] = upper[c][r];
  }
}

// n > 0.
template <bool kCutLines>
void launch_float4(float* a, std::size_t n) {
  const unsigned tiles = ceil_div(n, kTile);
  const unsigned blocks = kCutLines ? blocks_in_groups<kPairGroup>(tiles) : pairs(tiles);
  transpose_pairs_float4<kCutLines><<<blocks, kBlock>>>(a, n, tiles);
  CUDA_CHECK(cudaGetLastError());
}
inline void launch_scalar(float* a, std::size_t n) {
  const unsigned tiles = ceil_div(n, kTile);
  transpose_pairs_scalar<<<pairs(tiles), kBlock>>>(a, n, tiles);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace transpose_pairs
