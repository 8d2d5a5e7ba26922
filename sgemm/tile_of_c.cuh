// Tiles of C: the order in which blocks take them, and how their sums are stored.
#pragma once
#include <cstddef>
#include <cstdint>

struct Tile {
  unsigned row, col;
};

// Returns the position of tile `index`: down kGroup rows of tiles, then the next column. Blocks that run together form
// a rectangle, which needs fewer rows of A and columns of B than a row of tiles, so more of them are in L2.
template <unsigned kGroup = 8>
__device__ inline Tile tile_place(unsigned index, unsigned tiles_m, unsigned tiles_n) {
  const unsigned first = index / (kGroup * tiles_n) * kGroup, in_group = index - first * tiles_n;
  const unsigned height = min(kGroup, tiles_m - first);
  return {first + in_group % height, in_group / height};
}

// Stores c[0] = v0 + beta c[0], and if `both`, c[1] likewise; beta = 0 reads neither. `pairs`: c is aligned to a pair.
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

// Returns true if the even columns of C are aligned to two elements.
template <typename T>
bool has_pairs(const T* C, std::size_t ldc) {
  return reinterpret_cast<std::uintptr_t>(C) % (2 * sizeof(T)) == 0 && ldc % 2 == 0;
}

// Stores c = alpha sums + beta c for up to 16 rows of kColumns sums in shared memory, up to `rows` and `cols`. All
// lanes of the warp must call it. Each has kElements neighbours and stores them at once if all are inside.
template <int kColumns>
constexpr int kSumsPitch = kColumns + 8;
template <int kColumns, int kElements, typename T>
__device__ inline void store_sums(const float* sums, T* c, long long ld, int rows, int cols, float alpha, float beta) {
  constexpr int kLanes = kColumns / kElements, kRowsAtOnce = 32 / kLanes;
  static_assert(kColumns % kElements == 0 && 32 % kLanes == 0, "whole rows at a time");
  struct alignas(kElements * sizeof(T)) Elements {
    T of[kElements];
  };
  const int lane = threadIdx.x % 32, col = lane % kLanes * kElements;
  const auto result = [&](float sum, T before) {
    const float v = alpha * sum;
    return T(beta == 0 ? v : v + beta * static_cast<float>(before));
  };
  sums += col;
  c += lane / kLanes * ld + col;
#pragma unroll 4
  for (int row = lane / kLanes; row < rows; row += kRowsAtOnce, c += kRowsAtOnce * ld) {
    const float* from = sums + row * kSumsPitch<kColumns>;
    if (col + kElements <= cols) {
      Elements elements = {};
      if (beta != 0) elements = *reinterpret_cast<const Elements*>(c);
#pragma unroll
      for (int x = 0; x < kElements; ++x) elements.of[x] = result(from[x], elements.of[x]);
      *reinterpret_cast<Elements*>(c) = elements;
    } else {
      for (int x = 0; col + x < cols; ++x) c[x] = result(from[x], beta == 0 ? T(0.0f) : c[x]);
    }
  }
}

// Stores a warp's accumulators of mma.sync or wgmma likewise: per 8 columns a lane has two neighbours in row lane / 4
// and two in row lane / 4 + 8. Stored directly, they would fill only parts of sectors. So they pass through `sums`, the
// warp's own 16 * kSumsPitch<kSide> floats, kSide columns at a time. `aligned`: the rows of c are 16-byte aligned.
template <int kColumns, int kSide, typename T>
__device__ __forceinline__ void store_rows(const float* acc, float* sums, T* c, long long ld, int rows, int cols,
                                           float alpha, float beta, bool aligned) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int col = 0; col < kColumns; col += kSide) {
    __syncwarp();  // the previous columns have been stored
#pragma unroll
    for (int j = 0; j < kSide; j += 8) {
      const float* from = &acc[(col + j) / 2];
      float* to = &sums[lane / 4 * kSumsPitch<kSide> + j + lane % 4 * 2];
      reinterpret_cast<float2&>(*to) = make_float2(from[0], from[1]);
      reinterpret_cast<float2&>(to[8 * kSumsPitch<kSide>]) = make_float2(from[2], from[3]);
    }
    __syncwarp();
    aligned ? store_sums<kSide, 16 / sizeof(T)>(sums, c + col, ld, rows, cols - col, alpha, beta)
            : store_sums<kSide, 1>(sums, c + col, ld, rows, cols - col, alpha, beta);
  }
}
