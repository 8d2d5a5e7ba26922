// Tiles of bytes in shared memory. A row consists of 16-byte chunks along k.
#pragma once
#include "bf16_chunks.cuh"

#include <cstdint>

// Returns chunk `chunk` of row `row` in a tile of kBytes per row. Chunks are swizzled as in BF16 tiles with rows of the
// same length: 8 lanes that read the same chunk of 8 rows, or 8 neighbouring chunks, read from all banks.
template <int kBytes>
__device__ inline uint4& chunk_of(uint4* tile, int row, int chunk) {
  return tile[swizzled<kBytes / 2>(row, chunk) / 8];
}

// Loads the first `left` of the 16 bytes at p and zeros after them. p[left] and later bytes are not read.
template <typename Byte>
__device__ inline uint4 load_bytes_guarded(const Byte* p, long long left) {
  static_assert(sizeof(Byte) == 1, "bytes");
  unsigned words[4] = {};
#pragma unroll
  for (int i = 0; i < 16; ++i) {
    if (i < left) words[i / 4] |= static_cast<unsigned>(static_cast<std::uint8_t>(p[i])) << i % 4 * 8;
  }
  return make_uint4(words[0], words[1], words[2], words[3]);
}
