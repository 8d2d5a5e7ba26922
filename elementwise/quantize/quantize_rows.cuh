// Rows that one block holds, as quantize 05 introduces them: in the registers of a block or of a part of it, and very
// short ones many at a time in shared memory.
#pragma once
#include "int8_row.cuh"
#include "quantize_shapes.hpp"

#include <cuda_pipeline.h>

#include <utility>

namespace quantize_rows {

using ::magnitude;  // of a float

// x[0] to x[n - 1]: `head` elements up to a multiple of kAlign bytes, `units` float4, and from `behind` on up to three
// elements. Where q, too, is aligned, head ends at a multiple of kAlign / 4 bytes of q: all rows are as far from the
// boundaries of q as of x.
template <unsigned kAlign>
struct Parts {
  std::size_t head, units, behind;
  __device__ Parts(const float* x, std::size_t n) {
    const std::size_t past = reinterpret_cast<std::uintptr_t>(x) % kAlign;
    head = min((kAlign - past) % kAlign / sizeof(float), n);
    units = (n - head) / 4;
    behind = head + 4 * units;
  }
  // The element in front of or behind the float4 that thread t takes, or one from n on. kAlign / 4 + 2 threads take
  // them all.
  __device__ std::size_t edge(unsigned t) const { return t < head ? t : t - head + behind; }
};

__device__ inline unsigned magnitude(float4 v) {
  return max(max(magnitude(v.x), magnitude(v.y)), max(magnitude(v.z), magnitude(v.w)));
}

// One store for the four, if q is aligned for it.
__device__ inline void store_four(std::int8_t* q, char4 v, bool aligned) {
  if (aligned) {
    __stcs(reinterpret_cast<char4*>(q), v);
    return;
  }
  q[0] = v.x, q[1] = v.y, q[2] = v.z, q[3] = v.w;
}

__device__ inline bool aligned_for_four(const std::int8_t* q) {
  return reinterpret_cast<std::uintptr_t>(q) % alignof(char4) == 0;
}

// kKept float4 of each of kStride threads, in registers: x4[i], x4[i + kStride] and so on, before x4[end].
template <unsigned kKept, unsigned kStride>
struct Units {
  float4 v[kKept];
  __device__ void load(const float4* x4, std::size_t i, std::size_t end) {
#pragma unroll
    for (unsigned k = 0; k < kKept; ++k) {
      v[k] = i + k * kStride < end ? x4[i + k * kStride] : float4{0.0f, 0.0f, 0.0f, 0.0f};
    }
  }
  __device__ unsigned greatest() const {
    unsigned most = 0;
#pragma unroll
    for (unsigned k = 0; k < kKept; ++k) most = max(most, magnitude(v[k]));
    return most;
  }
  __device__ void store(std::int8_t* q, std::size_t i, std::size_t end, const Quantizer& quantized) const {
    const bool aligned = aligned_for_four(q);
#pragma unroll
    for (unsigned k = 0; k < kKept; ++k) {
      if (i + k * kStride < end) store_four(q + 4 * (i + k * kStride), quantized(v[k]), aligned);
    }
  }
};

// The greatest of kLanes neighbouring lanes, a power of two, returned to each. All 32 lanes must call it.
template <unsigned kLanes>
__device__ inline unsigned lanes_max(unsigned v) {
#pragma unroll
  for (unsigned offset = kLanes / 2; offset > 0; offset /= 2) v = max(v, __shfl_xor_sync(0xffffffff, v, offset));
  return v;
}

// kThreads threads take a row, kBlock / kThreads rows a block.
template <unsigned kThreads, unsigned kKept, unsigned kBlock>
__global__ void __launch_bounds__(kBlock, 1024 / kBlock)
    quantize_in_registers(const float* __restrict__ x, std::int8_t* __restrict__ q, float* __restrict__ scale,
                          std::size_t rows, unsigned cols) {
  const unsigned t = threadIdx.x % kThreads;
  const std::size_t row = std::size_t{blockIdx.x} * (kBlock / kThreads) + threadIdx.x / kThreads;
  const unsigned length = row < rows ? cols : 0;  // no return: all threads must reach shuffles and barrier
  x += row * cols;
  q += row * cols;

  // load
  const Parts<(kThreads > 32 ? 128 : 16)> part(x, length);
  const auto units = static_cast<unsigned>(part.units), edge = static_cast<unsigned>(part.edge(t));
  Units<kKept, kThreads> kept;
  kept.load(reinterpret_cast<const float4*>(x + part.head), t, units);
  const float single = edge < length ? x[edge] : 0.0f;

  // the greatest magnitude; divide, store
  unsigned most = max(kept.greatest(), magnitude(single));
  if constexpr (kThreads > 32) {
    most = block_max<kBlock>(most);
  } else {
    most = lanes_max<kThreads>(most);
  }
  const float row_scale = scale_of(most);
  if (t == 0 && row < rows) scale[row] = row_scale;
  const Quantizer quantized(row_scale);
  kept.store(q + part.head, t, units, quantized);
  if (edge < length) q[edge] = quantized(single);
}

// A tile: `tile_rows` rows, at most kTile elements. Its elements are neighbours in memory, so the block copies them as
// one piece, by float4 but for its edges; kThreads threads take a row, 4 elements each; and the bytes leave as one
// piece, by 16 but for its edges.
constexpr unsigned kTile = 4096;
template <unsigned kThreads, unsigned kBlock>
__global__ void __launch_bounds__(kBlock)
    quantize_staged(const float* __restrict__ x, std::int8_t* __restrict__ q, float* __restrict__ scale,
                    std::size_t rows, unsigned cols, unsigned tile_rows) {
  __shared__ float4 staged[kTile / 4 + 1];
  __shared__ uint4 bytes[kTile / 16 + 1];
  const unsigned tid = threadIdx.x, t = tid % kThreads;
  const std::size_t first = std::size_t{blockIdx.x} * tile_rows;
  const auto count = static_cast<unsigned>(min(rows - first, std::size_t{tile_rows}));
  const unsigned all = count * cols;
  x += first * cols;
  q += first * cols;

  // load: whole float4 to staged[1] and on, so that the piece starts `head` floats before staged[1]
  const Parts<16> part(x, all);
  float* const piece = reinterpret_cast<float*>(staged + 1) - part.head;
  for (unsigned i = tid; i < part.units; i += kBlock) {
    __pipeline_memcpy_async(&staged[1 + i], reinterpret_cast<const float4*>(x + part.head) + i, sizeof(float4));
  }
  __pipeline_commit();
  if (part.edge(tid) < all) piece[part.edge(tid)] = x[part.edge(tid)];
  __pipeline_wait_prior(0);
  __syncthreads();

  // one row after another; `results` is as far from a multiple of 16 as q
  const unsigned past = reinterpret_cast<std::uintptr_t>(q) % sizeof(uint4);
  const unsigned head = min((sizeof(uint4) - past) % sizeof(uint4), std::size_t{all});
  std::int8_t* const results = reinterpret_cast<std::int8_t*>(bytes + 1) - head;
  for (unsigned done = 0; done < count; done += kBlock / kThreads) {
    const unsigned row = done + tid / kThreads, length = row < count ? cols : 0;
    float v[4];
    unsigned most = 0;
#pragma unroll
    for (unsigned k = 0; k < 4; ++k) {
      const unsigned c = k * kThreads + t;
      v[k] = c < length ? piece[row * cols + c] : 0.0f;
      most = max(most, magnitude(v[k]));
    }
    const float row_scale = scale_of(lanes_max<kThreads>(most));
    if (t == 0 && row < count) scale[first + row] = row_scale;
    const Quantizer quantized(row_scale);
#pragma unroll
    for (unsigned k = 0; k < 4; ++k) {
      const unsigned c = k * kThreads + t;
      if (c < length) results[row * cols + c] = quantized(v[k]);
    }
  }
  __syncthreads();

  // store
  const unsigned units = (all - head) / sizeof(uint4), behind = head + units * sizeof(uint4);
  const unsigned edge = tid < head ? tid : tid - head + behind;
  for (unsigned i = tid; i < units; i += kBlock) __stcs(reinterpret_cast<uint4*>(q + head) + i, bytes[1 + i]);
  if (edge < all) q[edge] = results[edge];
}

template <std::size_t kShape>
void start(const float* x, std::int8_t* q, float* scale, std::size_t rows, unsigned cols) {
  constexpr quantize_shapes::RowShape s = quantize_shapes::kRowShapes[kShape];
  if constexpr (s.kept == 0) {
    const unsigned tile_rows = kTile / std::max(cols, 1u) / 16 * 16;  // so that tiles start at multiples of 16
    quantize_staged<s.threads, s.block>
        <<<static_cast<unsigned>(ceil_div(rows, tile_rows)), s.block>>>(x, q, scale, rows, cols, tile_rows);
  } else {
    quantize_in_registers<s.threads, s.kept, s.block>
        <<<static_cast<unsigned>(ceil_div(rows, s.block / s.threads)), s.block>>>(x, q, scale, rows, cols);
  }
  CUDA_CHECK(cudaGetLastError());
}
template <std::size_t... kShapes>
auto start_of(std::size_t shape, std::index_sequence<kShapes...>) {
  static constexpr decltype(&start<0>) kStarts[] = {start<kShapes>...};
  return kStarts[shape];
}

// row_shape(cols) < kRowShapeCount; rows is not 0.
inline void launch(const float* x, std::int8_t* q, float* scale, std::size_t rows, std::size_t cols) {
  using namespace quantize_shapes;
  start_of(row_shape(cols), std::make_index_sequence<kRowShapeCount>{})(x, q, scale, rows, static_cast<unsigned>(cols));
}

}  // namespace quantize_rows
