// Where the tiles of a product are, in shared memory and in C, for the steps on sm_90a.
#pragma once
#include "hopper.cuh"

// Tile number `index` in rows and columns of tiles: down through `kGroup` rows of tiles, then the next column of tiles.
// Blocks that run at the same time so share rows of A and columns of B in L2.
template <unsigned kGroup>
__device__ inline uint2 tile_place(unsigned index, unsigned tiles_m, unsigned tiles_n) {
  const unsigned group = index / (kGroup * tiles_n), in_group = index % (kGroup * tiles_n);
  const unsigned height = min(kGroup, tiles_m - group * kGroup);
  return make_uint2(group * kGroup + in_group % height, in_group / height);
}

// c[0] = v0 + beta c[0], and c[1] likewise where `both`; with beta = 0 they are not read. `pairs`: c is aligned to two
// elements.
template <typename T>
__device__ inline void store_pair(T* c, float v0, float v1, float beta, bool both, bool pairs) {
  struct alignas(2 * sizeof(T)) Pair {
    T first, second;
  };
  if (beta != 0) {
    v0 += beta * static_cast<float>(c[0]);
    if (both) v1 += beta * static_cast<float>(c[1]);
  }
  if (pairs && both) {
    *reinterpret_cast<Pair*>(c) = {T(v0), T(v1)};
  } else {
    c[0] = T(v0);
    if (both) c[1] = T(v1);
  }
}

// Are C's even columns aligned to two elements?
template <typename T>
bool has_pairs(const T* C, std::size_t ldc) {
  return reinterpret_cast<std::uintptr_t>(C) % (2 * sizeof(T)) == 0 && ldc % 2 == 0;
}
