// A row in the registers of one block or of a part of it, and very short rows many at a time through shared memory, as
// row_softmax_11 introduces them, for row_softmax 11 and 12.
#pragma once
#include "../float4_row.cuh"
#include "../merge_row.cuh"
#include "peeled.cuh"
#include "row_shapes.hpp"

#include <cuda_pipeline.h>

#include <utility>

namespace row_registers {

// Threads on an SM that the registers must leave room for: fewer float4 need fewer registers.
constexpr unsigned threads_per_sm(unsigned kept) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 750
  return 1024;  // there are no more
#else
  return kept <= 4 ? 1536 : 1024;
#endif
}

// kBlock / kThreads rows per block, a row's float4 in registers, and at most two of the elements at its edges for each
// thread.
template <unsigned kThreads, unsigned kKept, unsigned kBlock>
__global__ void __launch_bounds__(kBlock, threads_per_sm(kKept) / kBlock)
    row_softmax_peeled(const float* __restrict__ x, float* __restrict__ y, std::size_t rows, unsigned cols) {
  constexpr unsigned kGroup = kThreads < 32 ? kThreads : 32;
  const unsigned t = threadIdx.x % kThreads;
  const std::size_t row = std::size_t{blockIdx.x} * (kBlock / kThreads) + threadIdx.x / kThreads;
  const unsigned length = row < rows ? cols : 0;  // no return: all threads must reach shuffles and barrier
  x += row * cols;
  y += row * cols;

  // load
  const Peeled<kThreads >= 64 ? 128 : 16> part(x, length);
  const auto units = static_cast<unsigned>(part.units);
  const auto* const from = reinterpret_cast<const float4*>(x + part.head);
  float4 v[kKept];
#pragma unroll
  for (unsigned k = 0; k < kKept; ++k) {
    const unsigned i = k * kThreads + t;
    v[k] = i < units ? from[i] : float4{-INFINITY, -INFINITY, -INFINITY, -INFINITY};
  }
  constexpr unsigned kEdges = kThreads < 8 ? 2 : 1;
  unsigned at[kEdges];
  float edge[kEdges];
#pragma unroll
  for (unsigned k = 0; k < kEdges; ++k) {
    at[k] = static_cast<unsigned>(part.edge(k * kThreads + t, length));
    edge[k] = at[k] < length ? x[at[k]] : -INFINITY;
  }

  // reduce over the warp, or the row's part of it: the maximum, one exp per element in place, the sum
  float max = edge[0];
  if constexpr (kEdges > 1) max = fmaxf(max, edge[1]);
#pragma unroll
  for (unsigned k = 0; k < kKept; ++k) max = fmaxf(max, max4(v[k]));
  max = group_max<kGroup>(max);
  const float shift = shift_for(max);
  float sum = 0.0f;
#pragma unroll
  for (unsigned k = 0; k < kEdges; ++k) sum += edge[k] = expf(edge[k] - shift);
#pragma unroll
  for (unsigned k = 0; k < kKept; ++k) sum += sum4(v[k] = exp4(v[k], shift));
  const MaxSum s = merge_row<kThreads, kBlock>({max, group_sum<kGroup>(sum)});

  // store
  const float factor = expf(max - s.max) / s.sum;
  const bool same = alike(x, y);
#pragma unroll
  for (unsigned k = 0; k < kEdges; ++k) {
    if (at[k] < length) y[at[k]] = edge[k] * factor;
  }
#pragma unroll
  for (unsigned k = 0; k < kKept; ++k) {
    const unsigned i = k * kThreads + t;
    const float4 result = {v[k].x * factor, v[k].y * factor, v[k].z * factor, v[k].w * factor};
    if (i < units) store_unit(y + part.head + 4 * i, result, same);
  }
}

constexpr unsigned kElements = 16;  // that a thread takes of staged rows, one row after another

// kBlock / kThreads groups of threads per block. Their rows are neighbours in memory, so the block copies them as one
// piece, by float4 but for its edges, into shared memory and back; there kThreads threads take a row, kKept elements
// each.
template <unsigned kThreads, unsigned kKept, unsigned kBlock>
__global__ void __launch_bounds__(kBlock)
    row_softmax_staged(const float* __restrict__ x, float* __restrict__ y, std::size_t rows, unsigned cols) {
  constexpr unsigned kGroups = kBlock / kThreads, kRows = kGroups * (kElements / kKept);
  __shared__ float4 staged[kBlock * kElements / 4 + 2];
  const unsigned tid = threadIdx.x, t = tid % kThreads;
  const std::size_t first = std::size_t{blockIdx.x} * kRows;
  const auto count = static_cast<unsigned>(min(rows - first, std::size_t{kRows}));
  x += first * cols;
  y += first * cols;

  // load: whole float4 to staged[1] and on, so that the piece starts `head` floats before staged[1]
  const Peeled<> part(x, std::size_t{count} * cols);
  float* const piece = reinterpret_cast<float*>(staged + 1) - part.head;
  const unsigned all = count * cols, units = static_cast<unsigned>(part.units);
  const auto at = static_cast<unsigned>(part.edge(tid, all));
  for (unsigned i = tid; i < units; i += kBlock) {
    __pipeline_memcpy_async(&staged[1 + i], reinterpret_cast<const float4*>(x + part.head) + i, sizeof(float4));
  }
  __pipeline_commit();
  if (at < all) piece[at] = x[at];
  __pipeline_wait_prior(0);
  __syncthreads();

  // one row after another, in place
  for (unsigned r = tid / kThreads; r < kRows; r += kGroups) {
    float* const row = piece + r * cols;
    const unsigned length = r < count ? cols : 0;
    float v[kKept], max = -INFINITY, sum = 0.0f;
#pragma unroll
    for (unsigned k = 0; k < kKept; ++k) {
      v[k] = k * kThreads + t < length ? row[k * kThreads + t] : -INFINITY;
      max = fmaxf(max, v[k]);
    }
    max = group_max<kThreads>(max);
#pragma unroll
    for (unsigned k = 0; k < kKept; ++k) sum += v[k] = expf(v[k] - shift_for(max));
    // a row of nothing but -inf: its sum is 0, and 0 / 0 the NaN it must become
    const float factor = 1.0f / group_sum<kThreads>(sum);
#pragma unroll
    for (unsigned k = 0; k < kKept; ++k) {
      if (k * kThreads + t < length) row[k * kThreads + t] = v[k] * factor;
    }
  }
  __syncthreads();

  // store
  const bool same = alike(x, y);
  if (at < all) y[at] = piece[at];
  for (unsigned i = tid; i < units; i += kBlock) store_unit(y + part.head + 4 * i, staged[1 + i], same);
}

using Kernel = void (*)(const float*, float*, std::size_t, unsigned);
template <std::size_t kShape>
Kernel kernel_of() {
  constexpr RowShape s = kRowShapes[kShape];
  if constexpr (s.staged) {
    return row_softmax_staged<s.threads, s.kept, s.block>;
  } else {
    return row_softmax_peeled<s.threads, s.kept, s.block>;
  }
}
template <std::size_t... kShapes>
Kernel kernel_of(std::size_t shape, std::index_sequence<kShapes...>) {
  static const Kernel kernels[] = {kernel_of<kShapes>()...};
  return kernels[shape];
}

// row_shape(cols) < kRowShapeCount; rows is not 0.
inline void launch(const float* x, float* y, std::size_t rows, std::size_t cols) {
  const std::size_t shape = row_shape(cols);
  const RowShape& s = kRowShapes[shape];
  const auto grid = static_cast<unsigned>(ceil_div(rows, s.block / s.threads * (s.staged ? kElements / s.kept : 1)));
  const Kernel kernel = kernel_of(shape, std::make_index_sequence<kRowShapeCount>{});
  kernel<<<grid, s.block>>>(x, y, rows, static_cast<unsigned>(cols));
  CUDA_CHECK(cudaGetLastError());
}

// Numerator: exp twice, division and product. Denominator: exp, and additions in the thread, then in the warp and over
// the warps 5 each, the latter with an exp and a product before.
inline std::size_t roundings(std::size_t cols) {
  const RowShape& s = kRowShapes[row_shape(cols)];
  const unsigned of_thread = s.staged ? s.kept : 2 + s.kept + 2;
  return 10 + 4 + of_thread + 5 + 2 + 5;
}

}  // namespace row_registers
