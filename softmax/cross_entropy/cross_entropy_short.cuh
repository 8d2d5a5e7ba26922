// Kernel of cross_entropy 04 for rows of up to 128 elements. It copies a tile of rows to shared memory by float4.
#pragma once
#include "cross_entropy_shapes.hpp"
#include "../online_softmax.cuh"

#include <cuda_pipeline.h>

#include <utility>

// Returns the logit of a row's target, or NaN for a target outside the row. A negative target becomes a large number.
template <typename Length>
__device__ float logit_of(const float* x, int target, Length cols) {
  return static_cast<Length>(target) < cols ? x[target] : NAN;
}

namespace cross_entropy_short {

// A block has `tile` rows. kLanes lanes take one row after another, of kLongest elements at most.
template <unsigned kLongest, unsigned kLanes>
__global__ void __launch_bounds__(kTileBlock, 1024 / kTileBlock)
    cross_entropy_tile(const float* __restrict__ x, const int* __restrict__ target, float* __restrict__ loss,
                       unsigned rows, unsigned cols, unsigned tile) {
  constexpr unsigned kGroups = kTileBlock / kLanes, kElements = kLongest / kLanes;
  __shared__ float4 staged[kGroups * kLongest / 4 + 2 + kLanes];  // lanes may read a few elements past the last row
  __shared__ int targets[kGroups * kMostTimes];
  const unsigned tid = threadIdx.x, group = tid / kLanes;
  const unsigned first = blockIdx.x * tile, own = min(rows - first, tile), all = own * cols;
  x += std::size_t{first} * cols;
  target += first;
  loss += first;

  // load: whole float4 from staged[1] on; the rows start `head` floats before staged[1]
  const unsigned head = min(floats_to_boundary(x), all), units = (all - head) / 4, behind = head + 4 * units;
  float* const piece = reinterpret_cast<float*>(staged + 1) - head;
#pragma unroll 1
  for (unsigned i = tid; i < units; i += kTileBlock) {
    __pipeline_memcpy_async(&staged[1 + i], reinterpret_cast<const float4*>(x + head) + i, sizeof(float4));
  }
#pragma unroll 1
  for (unsigned r = tid; r < own; r += kTileBlock) __pipeline_memcpy_async(&targets[r], &target[r], sizeof(int));
  if (tid < head) __pipeline_memcpy_async(&piece[tid], &x[tid], sizeof(float));
  if (tid < all - behind) __pipeline_memcpy_async(&piece[behind + tid], &x[behind + tid], sizeof(float));
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();

  // A lane's elements are `start` XOR multiples of kLanes. If a power of two divides the length, many rows start at the
  // same bank, so each group takes its elements in a different order, within blocks of that power of two.
  const unsigned power = cols & (0u - cols), turn = (group * min(power, 32u) / 32 * kLanes) & (power - 1);
  const unsigned start = turn + tid % kLanes;

  // reduce one row after another: the maximum, then one exp per element
  for (unsigned r0 = 0; r0 < tile; r0 += kGroups) {  // in the last block too: all lanes must reach the shuffles
    const unsigned r = r0 + group, length = r < own ? cols : 0;
    const float* const row = piece + r * cols;
    float v[kElements], max = -INFINITY, sum = 0.0f;
#pragma unroll
    for (unsigned k = 0; k < kElements; ++k) {
      if (k / 2 * 2 * kLanes >= cols) break;  // uniform in the grid
      const float element = row[k * kLanes ^ start];
      v[k] = (k * kLanes ^ start) < length ? element : -INFINITY;
      max = fmaxf(max, v[k]);
    }
    max = group_max<kLanes>(max);
    const float shift = shift_for(max);
#pragma unroll
    for (unsigned k = 0; k < kElements; ++k) {
      if (k / 2 * 2 * kLanes >= cols) break;
      sum += expf(v[k] - shift);
    }
    sum = group_sum<kLanes>(sum);
    if (tid % kLanes == 0 && r < own) loss[r] = logf(sum) - (logit_of(row, targets[r], cols) - max);
  }
}

using Kernel = void (*)(const float*, const int*, float*, unsigned, unsigned, unsigned);
template <std::size_t... kShapes>
Kernel kernel_of(std::size_t shape, std::index_sequence<kShapes...>) {
  static const Kernel kernels[] = {cross_entropy_tile<kShortRows[kShapes].longest, kShortRows[kShapes].lanes>...};
  return kernels[shape];
}

// Requires short_rows(cols) < kShortRowsCount and rows > 0.
inline void launch(const float* x, const int* target, float* loss, std::size_t rows, std::size_t cols) {
  const std::size_t shape = short_rows(cols);
  const unsigned tile = rows_of_tile(kShortRows[shape], cols);
  const Kernel kernel = kernel_of(shape, std::make_index_sequence<kShortRowsCount>{});
  const auto grid = static_cast<unsigned>(ceil_div(rows, std::size_t{tile}));
  kernel<<<grid, kTileBlock>>>(x, target, loss, static_cast<unsigned>(rows), static_cast<unsigned>(cols), tile);
  CUDA_CHECK(cudaGetLastError());
}

// Exp, and the additions of a lane and over the lanes.
inline std::size_t roundings(std::size_t cols) {
  const ShortRows& s = kShortRows[short_rows(cols)];
  return 2 + 4 + s.longest / s.lanes + 2;
}

}  // namespace cross_entropy_short
