// The cost of a request of a warp: sectors of global memory, wavefronts of shared memory, or words of constant memory.
#pragma once

#include <array>
#include <cstdint>

namespace cuda_emu::trace {

constexpr unsigned kSectorBytes = 32;
constexpr unsigned kBanks = 32;
constexpr unsigned kBankBytes = 4;

// An access that lanes of a warp make together. address[i] is valid for the lanes in the mask.
struct Request {
  unsigned lanes = 0;  // mask
  unsigned width = 0;  // bytes per lane
  std::array<std::uint64_t, 32> address{};

  unsigned lane_count() const { return static_cast<unsigned>(__builtin_popcount(lanes)); }
};

struct Cost {
  unsigned units = 0;
  unsigned ideal = 0;
};

// Returns the number of sectors touched. `ideal` is the number that the data at distinct addresses would fill.
Cost sectors(const Request& request);

// Returns the number of wavefronts. Each 4-byte word of a bank takes one; lanes at the same word share it, except for
// atomics. An 8-byte access of a warp is split into two accesses of half a warp each, a 16-byte one into four. Two of
// these are served together if all neighbouring lanes, or all lanes two apart, have the same address. `ideal` is the
// number of these accesses. `pass`, if given, receives for each active lane the wavefront that completes it.
Cost wavefronts(const Request& request, bool atomic, std::array<int, 32>* pass = nullptr);

// Returns the number of distinct words: constants are broadcast one word at a time. `ideal` is 1.
Cost words(const Request& request);

// Returns the maximum number of lanes at one address.
unsigned same_address(const Request& request);

}  // namespace cuda_emu::trace
