// Stages rows of any alignment in shared memory. A row is copied as whole 32-byte sectors, 16 bytes per copy, so up to
// 7 floats precede it in the tile. The address of its first column gives their number.
#pragma once
#include "ladder.cuh"

#include <cuda_pipeline.h>

// Number of float4 that hold kColumns columns at any alignment; even, for whole sectors. Tiles must be alignas(32).
template <int kColumns>
constexpr int kStagedFloat4 = 2 * ceil_div(kColumns + 7, 8);

// Returns a grid of at least tiles_x * tiles_y blocks. gridDim.y is at most 65535, so tiles along y use gridDim.y
// and gridDim.z; dividing a linear index would take 20 instructions before the first load. Blocks with
// tile_y() >= tiles_y must exit.
inline dim3 tile_grid(std::size_t tiles_x, std::size_t tiles_y) {
  constexpr std::size_t most = 1 << 15;
  const std::size_t y = std::min(tiles_y, most);
  return dim3(static_cast<unsigned>(tiles_x), static_cast<unsigned>(y), static_cast<unsigned>(ceil_div(tiles_y, y)));
}
static __device__ std::int64_t tile_y() { return std::int64_t{blockIdx.z} * gridDim.y + blockIdx.y; }

// Returns the address of array[i] in floats, modulo 2^32. Modulo 8 it is the offset within a 32-byte sector.
static __device__ unsigned float_address(const float* array, long long i) {
  return static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(array) / sizeof(float) + i);
}

// Returns the first column of a staged row. `address` is that column's float_address in global memory.
static __device__ const float* staged(const float4* tile_row, unsigned address) {
  return reinterpret_cast<const float*>(tile_row) + address % 8;
}

// Starts copies of rows begin to end - 1 of the tile from an array of `size` floats. first(r) is the array index of row
// r's first column. Copies continue past a row's end; elements outside the array become 0. All kThreads threads must
// call it and then wait: __pipeline_commit, __pipeline_wait_prior, __syncthreads.
template <int kThreads, int kRows, int kFloat4, typename First>
static __device__ void stage_rows(float4 (&tile)[kRows][kFloat4], const float* __restrict__ array, long long size,
                                  int begin, int end, const First& first) {
  static_assert(kFloat4 % 2 == 0, "whole sectors");
  int r = begin + threadIdx.x / kFloat4, column = threadIdx.x % kFloat4;
  while (r < end) {
    const long long i = first(r) - float_address(array, first(r)) % 8 + 4 * column;
    if (i >= 0 && i + 4 <= size) {
      __pipeline_memcpy_async(&tile[r][column], array + i, sizeof(float4));
    } else {
      float v[4];
#pragma unroll
      for (int k = 0; k < 4; ++k) v[k] = i + k >= 0 && i + k < size ? array[i + k] : 0.0f;
      tile[r][column] = make_float4(v[0], v[1], v[2], v[3]);
    }
    r += kThreads / kFloat4, column += kThreads % kFloat4;
    if (column >= kFloat4) ++r, column -= kFloat4;
  }
}
