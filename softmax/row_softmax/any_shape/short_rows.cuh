// Kernel for rows of up to 16 elements. A block copies its rows as one contiguous piece, by float4 except at its ends.
#pragma once
#include "peeled.cuh"
#include "../../float4_row.cuh"

#include <cuda_pipeline.h>

constexpr unsigned kShortBlock = 256;
constexpr unsigned kSlots = 16;  // elements per thread, one row after another

// kLanes lanes take a row in shared memory, kKept elements each. kLanes * kKept >= cols.
template <unsigned kLanes, unsigned kKept>
__global__ void __launch_bounds__(kShortBlock)
    row_softmax_short(const float* __restrict__ x, float* __restrict__ y, std::size_t rows, unsigned cols) {
  constexpr unsigned kGroups = kShortBlock / kLanes, kRows = kGroups * (kSlots / kKept);
  __shared__ float4 staged[kShortBlock * kSlots / 4 + 2];
  const unsigned tid = threadIdx.x, lane = tid % kLanes;
  const std::size_t first = std::size_t{blockIdx.x} * kRows;
  const auto count = static_cast<unsigned>(min(rows - first, std::size_t{kRows}));
  x += first * cols;
  y += first * cols;

  // load: whole float4 from staged[1] on; the piece starts `head` floats before staged[1]
  const unsigned all = count * cols;
  const Peeled<> part(x, all);
  float* const piece = reinterpret_cast<float*>(staged + 1) - part.head;
  const auto units = static_cast<unsigned>(part.units), at = static_cast<unsigned>(part.edge(tid, all));
  for (unsigned i = tid; i < units; i += kShortBlock) {
    __pipeline_memcpy_async(&staged[1 + i], reinterpret_cast<const float4*>(x + part.head) + i, sizeof(float4));
  }
  __pipeline_commit();
  if (at < all) piece[at] = x[at];
  __pipeline_wait_prior(0);
  __syncthreads();

  // one row after another, in place
  for (unsigned r = tid / kLanes; r < kRows; r += kGroups) {
    float* const row = piece + r * cols;
    const unsigned length = r < count ? cols : 0;  // all lanes must reach the shuffles
    float v[kKept], max = -INFINITY, sum = 0.0f;
#pragma unroll
    for (unsigned k = 0; k < kKept; ++k) {
      v[k] = k * kLanes + lane < length ? row[k * kLanes + lane] : -INFINITY;
      max = fmaxf(max, v[k]);
    }
    max = group_max<kLanes>(max);
#pragma unroll
    for (unsigned k = 0; k < kKept; ++k) sum += v[k] = expf(v[k] - shift_for(max));
    // a row of only -inf has the sum 0, and 0 * (1 / 0) is NaN, as it must be
    const float factor = 1.0f / group_sum<kLanes>(sum);
#pragma unroll
    for (unsigned k = 0; k < kKept; ++k) {
      if (k * kLanes + lane < length) row[k * kLanes + lane] = v[k] * factor;
    }
  }
  __syncthreads();

  // store
  const bool same = alike(x, y);
  if (at < all) y[at] = piece[at];
  for (unsigned i = tid; i < units; i += kShortBlock) store_unit(y + part.head + 4 * i, staged[1 + i], same);
}

inline void launch_short(const float* x, float* y, std::size_t rows, std::size_t cols) {
  const auto kernel = cols == 1   ? row_softmax_short<1, 1>
                      : cols == 2 ? row_softmax_short<1, 2>
                      : cols <= 4 ? row_softmax_short<1, 4>
                      : cols <= 8 ? row_softmax_short<2, 4>
                                  : row_softmax_short<4, 4>;
  unsigned length = 1;  // lanes times elements: the next power of two
  while (length < cols) length *= 2;
  kernel<<<static_cast<unsigned>(ceil_div(rows, kShortBlock * kSlots / length)), kShortBlock>>>(
      x, y, rows, static_cast<unsigned>(cols));
  CUDA_CHECK(cudaGetLastError());
}
