// The tile that step 02 of sgemm_tf32 multiplies.
#pragma once
#include "sgemm_tf32.cuh"
#include "../hopper_tiles.cuh"

constexpr int BM = 256, BN = 128, BK = 32;  // a row of A's tile is 128 bytes long

// One step along k, as TMA brings it: rows of 128 bytes, swizzled.
struct Stage {
  float A[BM][BK];
  float B[BN / 32][BK][32];  // blocks of 32 columns
};

// wgmma's first operand has 64 rows, here columns of B, of which a warp has 16 and a thread two, "rows" lane / 4 and
// lane / 4 + 8: two neighbouring columns, read as a float2. A warp reads 16 columns, 4 chunks of 16 bytes, of 4 rows of
// B's tile. It takes chunks 0, 1, 4 and 5, or 2, 3, 6 and 7: the swizzle puts what each half of the warp reads into
// different banks.
struct Columns {
  unsigned block, chunk, pair;
  __device__ Columns(unsigned warpgroup, unsigned warp, unsigned lane)
      : block(warpgroup * 2 + warp / 2), chunk(warp % 2 * 2 + lane / 16 + lane / 8 % 2 * 4), pair(lane / 4 % 2) {}
  // The first column's place in the tile.
  __device__ unsigned first() const { return block * 32 + chunk * 4 + pair * 2; }
  // The same within a row of its block in shared memory, which TMA's swizzle has permuted.
  __device__ unsigned swizzled(unsigned row) const { return (chunk ^ row % 8) * 4 + pair * 2; }
  // The thread's parts of the 4 operands of a stage with this B.
  template <typename Stage>
  __device__ void read(float (&operands)[BK / 8][4], const Stage& from, unsigned lane) const {
#pragma unroll
    for (unsigned k = 0; k < BK; k += 4) {
      const unsigned row = k + lane % 4;
      const float2 v = *reinterpret_cast<const float2*>(&from.B[block][row][swizzled(row)]);
      operands[k / 8][k % 8 / 2] = v.x;
      operands[k / 8][k % 8 / 2 + 1] = v.y;
    }
  }
};

// acc += B^T A^T, or acc = B^T A^T if `first`, for 64 columns of B and all rows of A; a group of wgmmas.
__device__ inline void multiply(float (&acc)[128], const float (&operands)[BK / 8][4], const Stage& from, bool first) {
  wgmma_fence();
#pragma unroll
  for (int k = 0; k < BK; k += 8) {
    wgmma_m64n256k8_tf32_ra_nk(acc, operands[k / 8], wgmma_descriptor(&from.A[0][k], 0, 8 * 128), !first || k > 0);
  }
  wgmma_commit();
}
