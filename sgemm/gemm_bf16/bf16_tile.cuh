// What steps 02 and 03 of gemm_bf16 share beside the tile's size: where a tile's elements stand in shared memory, and
// the edges of the matrices.
#pragma once
#include "gemm_bf16.cuh"
#include "tensor_core.cuh"
#include "../tile_order.cuh"

// Where a chunk of 8 elements (16 bytes) of a row stands in a tile of kColumns columns, in elements. ldmatrix reads the
// same chunk of 8 rows at a time. In row-major order these would share their banks, since 128 bytes are all banks. XOR
// with the number of the 128-byte line puts the 8 chunks on different banks.
template <int kColumns>
__device__ inline int swizzled(int row, int chunk) {
  constexpr int chunks = kColumns / 8, rows_per_line = chunks < 8 ? 8 / chunks : 1;
  return row * kColumns + (chunk ^ row / rows_per_line % (chunks < 8 ? chunks : 8)) * 8;
}

// The first `left` of the 8 elements at p, then zeros; p[left] and what follows is not read.
__device__ inline uint4 load_chunk_guarded(const __nv_bfloat16* p, long long left) {
  unsigned pairs[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const unsigned low = 2 * i < left ? __bfloat16_as_ushort(p[2 * i]) : 0;
    const unsigned high = 2 * i + 1 < left ? __bfloat16_as_ushort(p[2 * i + 1]) : 0;
    pairs[i] = low | high << 16;
  }
  return make_uint4(pairs[0], pairs[1], pairs[2], pairs[3]);
}

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
