// cooperative_groups::reduce over a tile or a coalesced group. All threads get the result.
#pragma once

#include "scan.h"

namespace cooperative_groups {

namespace details {

template <class Tile, class T, class Operator>
inline T butterfly_reduce(const Tile& tile, T value, Operator op, const char* file, int line) {
  for (unsigned distance = tile.size() / 2; distance > 0; distance /= 2) {
    value = op(value, tile.shfl_xor(value, distance, file, line));
  }
  return value;
}

}  // namespace details

template <unsigned Size, class Parent, class T, class Operator>
inline T reduce(const thread_block_tile<Size, Parent>& tile, T value, Operator op, CUDA_EMU_HERE) {
  if constexpr (Size > 32) {
    const T of_warp = details::butterfly_reduce(thread_block_tile<32>(0, 1), value, op, file, line);
    return tile.reduce(of_warp, op, file, line);
  } else {
    return details::butterfly_reduce(tile, value, op, file, line);
  }
}

// A group of any size: the last thread's inclusive scan is the result.
template <class T, class Operator>
inline T reduce(const coalesced_group& group, T value, Operator op, CUDA_EMU_HERE) {
  if (group.size() == 32) return details::butterfly_reduce(thread_block_tile<32>(0, 1), value, op, file, line);
  return group.shfl(inclusive_scan(group, value, op, file, line), group.size() - 1, file, line);
}

}  // namespace cooperative_groups
