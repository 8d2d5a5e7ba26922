// A grid for many planes, or rows: the tiles of one along x, and the planes along y and z, for gridDim.y ends at 65535.
// Blocks whose plane_of_block() is not below `planes` have nothing to do.
#pragma once
#include "ladder.cuh"

#include <algorithm>

inline dim3 plane_grid(std::size_t tiles, std::size_t planes) {
  const std::size_t y = std::min<std::size_t>(planes, 1 << 15);
  return dim3(static_cast<unsigned>(tiles), static_cast<unsigned>(y), static_cast<unsigned>(ceil_div(planes, y)));
}
inline __device__ std::int64_t plane_of_block() { return std::int64_t{blockIdx.z} * gridDim.y + blockIdx.y; }
