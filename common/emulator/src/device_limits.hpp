// The limits of the emulated device. They are those of compute capability 9.0; only the default number of
// multiprocessors is small, which keeps the largest cooperative grids small.
#pragma once

#include <cstddef>

namespace cuda_emu {

constexpr unsigned kWarpSize = 32;
constexpr unsigned kDefaultMultiprocessors = 4;
constexpr unsigned kMaxThreadsPerBlock = 1024;
constexpr unsigned kMaxBlockDimZ = 64;
constexpr unsigned kMaxGridDimX = 2147483647;
constexpr unsigned kMaxGridDimYZ = 65535;
constexpr unsigned kMaxThreadsPerMultiprocessor = 2048;
constexpr unsigned kMaxBlocksPerMultiprocessor = 32;
constexpr std::size_t kSharedPerBlock = 48 << 10;
constexpr std::size_t kSharedPerBlockOptin = 227 << 10;
constexpr std::size_t kSharedPerMultiprocessor = 228 << 10;
constexpr std::size_t kSharedReservedPerBlock = 1 << 10;
constexpr std::size_t kConstantMemory = 64 << 10;
constexpr int kRegisters = 65536;
constexpr int kL2CacheSize = 4 << 20;

// Returns how many blocks a multiprocessor holds at once.
inline unsigned blocks_per_multiprocessor(unsigned threads_per_block, std::size_t dynamic_shared) {
  const unsigned warps = (threads_per_block + kWarpSize - 1) / kWarpSize;
  const unsigned by_threads = kMaxThreadsPerMultiprocessor / kWarpSize / warps;
  const std::size_t by_shared = kSharedPerMultiprocessor / (dynamic_shared + kSharedReservedPerBlock);
  unsigned blocks = by_threads < kMaxBlocksPerMultiprocessor ? by_threads : kMaxBlocksPerMultiprocessor;
  if (by_shared < blocks) blocks = static_cast<unsigned>(by_shared);
  return blocks;
}

}  // namespace cuda_emu
