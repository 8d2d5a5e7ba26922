// A grid for many planes or rows: the tiles of a plane along x, the planes along y and z, because gridDim.y is at most
// 65535. A block with plane_of_block() >= planes must exit.
#pragma once
#include "ladder.cuh"

#include <algorithm>

inline dim3 plane_grid(std::size_t tiles, std::size_t planes) {
  const std::size_t y = std::min<std::size_t>(planes, 1 << 15);
  return dim3(static_cast<unsigned>(tiles), static_cast<unsigned>(y), static_cast<unsigned>(ceil_div(planes, y)));
}
inline __device__ std::int64_t plane_of_block() { return std::int64_t{blockIdx.z} * gridDim.y + blockIdx.y; }
