// What one request of a warp costs: sectors of global memory, wavefronts of shared memory.
#pragma once

#include <array>
#include <cstdint>

namespace cuda_emu::trace {

constexpr unsigned kSectorBytes = 32;
constexpr unsigned kBanks = 32;
constexpr unsigned kBankBytes = 4;

// The lanes of a warp that make an access together; address[i] counts for the lanes in the mask.
struct Request {
  unsigned lanes = 0;  // mask
  unsigned width = 0;  // bytes of each
  std::array<std::uint64_t, 32> address{};

  unsigned lane_count() const { return static_cast<unsigned>(__builtin_popcount(lanes)); }
};

struct Cost {
  unsigned units = 0;
  unsigned ideal = 0;
};

// Sectors touched; ideal: as many as the different bytes would fill.
Cost sectors(const Request& request);

// Wavefronts: 4-byte words of one bank take one each. Lanes at the same word share it, except for atomics. A warp's
// 8-byte access is two accesses, of half a warp each, and a 16-byte one four; two of them are served together where
// the lanes next to each other, or next but one, are at the same address. `ideal` is the number of these accesses.
// `pass`, if given, gets for each active lane the wavefront that completes it.
Cost wavefronts(const Request& request, bool atomic, std::array<int, 32>* pass = nullptr);

// Different words: a constant is broadcast, one word at a time.
Cost words(const Request& request);

// The most lanes at one address.
unsigned same_address(const Request& request);

}  // namespace cuda_emu::trace
