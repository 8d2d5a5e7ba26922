// A load of 16 bytes from any address: 32 weights of 4 bits, or eight elements of X.
#pragma once
#include <cstdint>

// Returns the 16 bytes at `from`. kAligned: by one load; `from` must be 16-byte aligned. Otherwise byte by byte.
template <bool kAligned>
__device__ inline uint4 load_16_bytes(const void* from) {
  if constexpr (kAligned) return *static_cast<const uint4*>(from);
  unsigned words[4] = {};
#pragma unroll
  for (int i = 0; i < 16; ++i) words[i / 4] |= unsigned{static_cast<const std::uint8_t*>(from)[i]} << i % 4 * 8;
  return make_uint4(words[0], words[1], words[2], words[3]);
}
