// The kernel of layer_norm 08, and its rule, which step 09 takes for the rows that it does not keep. Needs clusters of
// blocks, hence sm_90.
#pragma once
#include "layer_norm.cuh"
#include "../norm_by_columns.cuh"

#include <cuda_pipeline.h>

namespace cg = cooperative_groups;

// `count` parts of a row, at most 32, each {n, mean, sum of squared distances from it}, together.
__device__ inline float4 merge_parts(const float4* parts, unsigned count) {
  const unsigned lane = threadIdx.x % 32;
  const float4 part = lane < count ? parts[lane] : float4{0.0f, 0.0f, 0.0f, 0.0f};
  const float n = lanes_sum<32>(part.x), mean = lanes_sum<32>(part.x * part.y) / n, d = part.y - mean;
  return {n, mean, lanes_sum<32>(part.z + part.x * d * d), 0.0f};
}

// L: see norm_by_columns.cuh; kAligned: see norm_float4.cuh.
template <typename L, bool kAligned>
__global__ void __launch_bounds__(L::kBlock, L::kBlocksPerSM)
    layer_norm_by_shape(const float* __restrict__ x, const float* __restrict__ gamma, const float* __restrict__ beta,
                        float* __restrict__ y, std::size_t rows, unsigned cols, float epsilon) {
  extern __shared__ float4 shared[];  // [row][chunk][thread]
  constexpr unsigned kThreads = L::kThreads, kBlock = L::kBlock, kCluster = L::kCluster, kChunk = L::kChunk;
  constexpr int kKept = L::kKept, kShared = L::kShared, kRows = L::kRows;
  constexpr unsigned lanes = kThreads < 32 ? kThreads : 32;
  const unsigned tid = threadIdx.x, t = tid % kThreads, rank = blockIdx.x % kCluster;
  const std::size_t row = (std::size_t{blockIdx.x / kCluster} * (kBlock / kThreads) + tid / kThreads) * kRows;
  const unsigned first = rank * 4 * kThreads + (kAligned ? 4 * t : t);
  const unsigned remainder = (kKept + kShared) * kChunk + rank * kThreads + t;  // what is read again; of few shapes
  x += row * cols;
  y += row * cols;
  const auto place = [&](unsigned r, unsigned k) { return (r * kShared + k) * kBlock + tid; };
  const auto for_remainder = [&](unsigned r, const auto& body) {
    if (kCluster > 1 && row + r < rows) {
      for (unsigned c = remainder; c < cols; c += kCluster * kThreads) body(r * std::size_t{cols} + c, c);
    }
  };
  if constexpr (kCluster > 1) cg::this_cluster().barrier_arrive();

  // load: to shared memory by cp.async, to registers
  float4 v[kRows][kKept];
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    const float* from = x + r * std::size_t{cols};
    const unsigned end = row + r < rows ? cols : 0;
#pragma unroll
    for (int k = 0; k < kShared; ++k) {
      const unsigned c = (kKept + k) * kChunk + first;
      if (kAligned && c < end) {
        __pipeline_memcpy_async(&shared[place(r, k)], from + c, sizeof(float4));
      } else {
        shared[place(r, k)] = load4<kAligned, kThreads, true>(from, c, end);
      }
    }
#pragma unroll
    for (int k = 0; k < kKept; ++k) v[r][k] = load4<kAligned, kThreads, true>(from, k * kChunk + first, end);
  }
  if constexpr (kShared > 0) {
    __pipeline_commit();
    __pipeline_wait_prior(0);
  }

  // of what the warp has of a row, or its lanes: the number of elements, their mean, the squared distances from it
  float n = static_cast<float>(cols);
  if constexpr (kThreads > 32) {
    unsigned count = 0;
#pragma unroll
    for (int k = 0; k < kKept + kShared; ++k) {
      const unsigned c = k * kChunk + first;
      if (c < cols) count += kAligned ? 4 : min(4u, ceil_div(cols - c, kThreads));
    }
    for_remainder(0, [&](std::size_t, unsigned) { ++count; });
    n = lanes_sum<32>(static_cast<float>(count));
  }
  float4 part[kRows];
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    float sum = 0.0f, squares = 0.0f;
#pragma unroll
    for (int k = 0; k < kKept; ++k) sum += sum4(v[r][k]);
#pragma unroll
    for (int k = 0; k < kShared; ++k) sum += sum4(shared[place(r, k)]);
    for_remainder(r, [&](std::size_t i, unsigned) { sum += x[i]; });
    const float mean = lanes_sum<lanes>(sum) / fmaxf(n, 1.0f);
#pragma unroll
    for (int k = 0; k < kKept; ++k) {
      squares += squares4<kAligned, kThreads>(v[r][k], mean, k * kChunk + first, cols);
    }
#pragma unroll
    for (int k = 0; k < kShared; ++k) {
      squares += squares4<kAligned, kThreads>(shared[place(r, k)], mean, (kKept + k) * kChunk + first, cols);
    }
    for_remainder(r, [&](std::size_t i, unsigned) { squares += (x[i] - mean) * (x[i] - mean); });
    part[r] = {n, mean, lanes_sum<lanes>(squares), 0.0f};
  }

  // merge the warps of the row, then the blocks of the cluster
  if constexpr (kThreads > 32) {
    __shared__ float4 warps[kRows][kBlock / 32];
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      if (tid % 32 == 0) warps[r][tid / 32] = part[r];
    }
    __syncthreads();
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      part[r] = merge_parts(warps[r] + tid / kThreads * (kThreads / 32), kThreads / 32);
    }
  }
  if constexpr (kCluster > 1) {
    __shared__ float4 blocks[kRows][kCluster];
    cg::cluster_group cluster = cg::this_cluster();
    cluster.barrier_wait();  // all blocks have started: their shared memory may be written
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      if (tid < kCluster) *cluster.map_shared_rank(&blocks[r][rank], tid) = part[r];
    }
    cluster.sync();
#pragma unroll
    for (int r = 0; r < kRows; ++r) part[r] = merge_parts(blocks[r], kCluster);
  }

  // scale, shift, store
  float factor[kRows];
#pragma unroll
  for (int r = 0; r < kRows; ++r) factor[r] = rsqrtf(part[r].z / static_cast<float>(cols) + epsilon);
#pragma unroll
  for (int k = 0; k < kKept + kShared; ++k) {
    const unsigned c = k * kChunk + first;
    const float4 g = load4<kAligned, kThreads>(gamma, c, cols), b = load4<kAligned, kThreads>(beta, c, cols);
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const float4 value = k < kKept ? v[r][k < kKept ? k : 0] : shared[place(r, k - kKept)];
      store4<kAligned, kThreads>(y + r * std::size_t{cols}, c, row + r < rows ? cols : 0,
                                 normalise4(value, part[r].y, factor[r], g, b));
    }
  }
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    for_remainder(r, [&](std::size_t i, unsigned c) { y[i] = (x[i] - part[r].y) * factor[r] * gamma[c] + beta[c]; });
  }
}

template <unsigned... kLayout>
auto layer_shape() {
  using L = Layout<kLayout...>;
  return row_shape<L>(layer_norm_by_shape<L, false>, layer_norm_by_shape<L, true>);
}

inline const auto& layer_shapes() {
  // threads per row and block, float4 per thread and row in registers and in shared memory, threads per block, blocks
  // per cluster, rows at a time
  static const decltype(layer_shape<4, 1, 0, 256, 1, 1>()) shapes[] = {
      layer_shape<4, 1, 0, 256, 1, 1>(),   layer_shape<16, 2, 0, 256, 1, 1>(),  layer_shape<32, 4, 0, 256, 1, 1>(),
      layer_shape<128, 2, 0, 128, 1, 1>(), layer_shape<512, 2, 0, 512, 1, 1>(), layer_shape<512, 4, 0, 512, 1, 2>(),
      layer_shape<512, 8, 0, 512, 1, 1>(), layer_shape<512, 8, 8, 512, 1, 1>(), layer_shape<512, 4, 4, 512, 8, 2>(),
      layer_shape<512, 8, 8, 512, 16, 1>()};
  return shapes;
}

inline void launch_layer_by_shape(const float* x, const float* gamma, const float* beta, float* y, std::size_t rows,
                                  std::size_t cols, float epsilon) {
  if (rows == 0 || cols == 0) return;
  const bool aligned = aligned_for<float4>(x, gamma, beta, y) && cols % 4 == 0;
  const auto& shape = pick(layer_shapes(), cols);
  launch_rows(shape, aligned, rows, [&](auto& config, auto kernel, std::size_t first, std::size_t count) {
    return cudaLaunchKernelEx(&config, kernel, x + first * cols, gamma, beta, y + first * cols, count,
                              static_cast<unsigned>(cols), epsilon);
  });
}

// A thread's additions, four elements at a time, and of what is read again; two levels in a float4, and 5 in a warp.
// Then the warps' and the blocks' parts, by sums of 5 levels.
inline std::size_t layer_by_shape_roundings(std::size_t cols) {
  const std::size_t remainder = cols - std::min<std::size_t>(cols, 16 * 512 * 16 * 4);
  return LayerNorm::parts(16 + ceil_div(remainder, 16 * 512) + 2 + 5 + 10, 2);
}
