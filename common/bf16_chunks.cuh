// Chunks of eight BF16 elements, 16 bytes: where they stand in a tile in shared memory, and loads at an edge.
#pragma once
#include <cuda_bf16.h>

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
