// What steps 02 and 03 of gemm_bf16 share beside the tile's size: the chunks that a tile is made of, and C's edges.
#pragma once
#include "bf16_chunks.cuh"
#include "gemm_bf16.cuh"
#include "tensor_core.cuh"
#include "../tile_order.cuh"

// C = alpha s + beta C for two neighbouring elements of a row, as far as they are inside C. `aligned`: all pairs of C
// that begin at an even column are 4-byte aligned.
__device__ inline void store_pair(long long M, long long N, float alpha, float s0, float s1, float beta,
                                  __nv_bfloat16* __restrict__ C, long long ldc, long long row, long long col,
                                  bool aligned) {
  if (row >= M || col >= N) return;
  __nv_bfloat16* c = &C[row * ldc + col];
  const bool both = col + 1 < N;
  float v0 = alpha * s0, v1 = alpha * s1;
  if (beta != 0.0f) {
    v0 += beta * __bfloat162float(c[0]);
    if (both) v1 += beta * __bfloat162float(c[1]);
  }
  if (aligned && both) {
    *reinterpret_cast<__nv_bfloat162*>(c) = __floats2bfloat162_rn(v0, v1);
  } else {
    c[0] = __float2bfloat16(v0);
    if (both) c[1] = __float2bfloat16(v1);
  }
}
