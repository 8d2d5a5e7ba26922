// The tile that steps 04 and 05 of gemm_bf16 multiply, and where tiles are.
#pragma once
#include "gemm_bf16.cuh"
#include "hopper.cuh"
#include "../hopper_tiles.cuh"

constexpr int BM = 128, BN = 256, BK = 64;

// One step along k, as TMA brings it: rows of 128 bytes, swizzled. B comes in blocks of 64 columns.
struct Stage {
  __nv_bfloat16 A[BM][BK];
  __nv_bfloat16 B[BN / 64][BK][64];
};

// acc += A B, or acc = A B if `first`: rows 64 * warpgroup to + 63 of the tile, all its columns. A thread holds acc as
// mma.sync's accumulators: for each 8 columns two neighbours in row lane / 4 of its warp's 16, and two 8 rows below.
// The wgmmas are a group that the caller waits for.
__device__ inline void multiply(float (&acc)[128], const Stage& from, unsigned warpgroup, bool first) {
  constexpr unsigned kGroupOfRows = 8 * 128;  // bytes; the swizzle repeats after 8 rows
  wgmma_fence();
#pragma unroll
  for (int k = 0; k < BK; k += 16) {
    const std::uint64_t a = wgmma_descriptor(&from.A[warpgroup * 64][k], 0, kGroupOfRows);
    const std::uint64_t b = wgmma_descriptor(&from.B[0][k][0], sizeof(from.B[0]), kGroupOfRows);
    wgmma_m64n256k16_bf16_kn(acc, a, b, !first || k > 0);
  }
  wgmma_commit();
}
