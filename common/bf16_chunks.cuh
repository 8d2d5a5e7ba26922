// Chunks of eight BF16 elements (16 bytes): a swizzled layout in shared memory, and guarded loads.
#pragma once
#include <cuda_bf16.h>

// Returns the offset, in elements, of a chunk of a row in a swizzled tile of kColumns columns. ldmatrix reads the same
// chunk of 8 rows at once. In row-major order these chunks would lie in the same four banks, because 128 bytes span all
// banks. XOR with the index of the 128-byte line puts them in different banks.
template <int kColumns>
__device__ inline int swizzled(int row, int chunk) {
  constexpr int chunks = kColumns / 8, rows_per_line = chunks < 8 ? 8 / chunks : 1;
  return row * kColumns + (chunk ^ row / rows_per_line % (chunks < 8 ? chunks : 8)) * 8;
}

// Loads the first `left` of the 8 elements at p and zeros after them. p[left] and later elements are not read.
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
