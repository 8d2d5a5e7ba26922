// Shared by the tensor core steps: multiplies and stores a block's tile of 128 pixels x 64 filters. Operands are in
// shared memory, with channels padded to a multiple of 8.
#pragma once
#include "bf16_chunks.cuh"
#include "ladder.cuh"
#include "tensor_core.cuh"

constexpr int BM = 128, BN = 64, BK = 32;  // pixels, filters, and products per result in one stage
constexpr int WM = 64, WN = 32, kWarpsN = BN / WN;
constexpr int kThreads = BM / WM * kWarpsN * 32;

// Rows of BK elements, with swizzled chunks of 8.
struct Operands {
  __nv_bfloat16 pixels[BM * BK], filters[BN * BK];
};
using Sums = float[WM / 16][WN / 8][4];

// Adds to `sums` this warp's part of pixels times the transpose of `filters`, over the first `depth` of BK products.
// If `depth` isn't a multiple of 16, the rest up to the next multiple must be 0. pixels(i, chunk) returns the address
// of a chunk of row lane_row() + 16 i of the tile, this lane's row of fragment i. All lanes must call it.
__device__ inline int lane_row() { return threadIdx.x / 32 / kWarpsN * WM + threadIdx.x % 16; }
template <typename Pixels>
__device__ __forceinline__ void multiply(Sums& sums, const Pixels& pixels, const __nv_bfloat16* filters, int depth) {
  const int lane = threadIdx.x % 32, filter = threadIdx.x / 32 % kWarpsN * WN + lane / 16 * 8 + lane % 8;
#pragma unroll
  for (int k = 0; k < BK; k += 16) {
    if (k >= depth) break;
    unsigned a[WM / 16][4], b[WN / 16][4];  // each b is two fragments of 8 filters
#pragma unroll
    for (int i = 0; i < WM / 16; ++i) ldmatrix_x4(a[i], pixels(i, k / 8 + lane / 16));
#pragma unroll
    for (int j = 0; j < WN / 16; ++j) {
      ldmatrix_x4(b[j], &filters[swizzled<BK>(filter, k / 8 + lane / 8 % 2) + j * 16 * BK]);
    }
#pragma unroll
    for (int i = 0; i < WM / 16; ++i) {
#pragma unroll
      for (int j = 0; j < WN / 8; ++j) {
        mma_m16n8k16_bf16(sums[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
      }
    }
  }
}
__device__ inline void multiply(Sums& sums, const Operands& from) {
  // the swizzle repeats every 16 rows
  const auto pixels = [&](int i, int chunk) { return &from.pixels[swizzled<BK>(lane_row(), chunk) + i * 16 * BK]; };
  multiply(sums, pixels, from.filters, BK);
}

// Stores the sums of the tile at (pixel0, filter0) to out, which has `pixels` x K elements. `pairs`: K is even and out
// is aligned to two elements.
__device__ inline void store(const Sums& sums, __nv_bfloat16* out, std::int64_t pixel0, std::int64_t pixels,
                             int filter0, int K, bool pairs) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
#pragma unroll
  for (int i = 0; i < WM / 8; ++i) {
#pragma unroll
    for (int j = 0; j < WN / 8; ++j) {
      const std::int64_t pixel = pixel0 + warp / kWarpsN * WM + i * 8 + lane / 4;
      const int filter = filter0 + warp % kWarpsN * WN + j * 8 + lane % 4 * 2;
      if (pixel >= pixels || filter >= K) continue;
      const float v0 = sums[i / 2][j][i % 2 * 2], v1 = sums[i / 2][j][i % 2 * 2 + 1];
      __nv_bfloat16* to = &out[pixel * K + filter];
      if (pairs) {
        const __nv_bfloat162 both = __floats2bfloat162_rn(v0, v1);
        *reinterpret_cast<unsigned*>(to) = reinterpret_cast<const unsigned&>(both);
      } else {
        to[0] = __float2bfloat16(v0);
        if (filter + 1 < K) to[1] = __float2bfloat16(v1);
      }
    }
  }
}
