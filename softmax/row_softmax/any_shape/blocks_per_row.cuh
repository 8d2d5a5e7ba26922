// Kernel for rows of any alignment, in a block's registers, or in a cluster's registers and shared memory (sm_90).
#pragma once
#include "peeled.cuh"
#include "../../float4_row.cuh"
#ifndef CUDA_EMU
#include "launch_cluster.cuh"
#endif

#include <cooperative_groups.h>
#include <cuda_pipeline.h>

constexpr unsigned kHeld = 8;         // float4 per thread in registers
constexpr unsigned kMostChunks = 13;  // and in shared memory: 208 KB for the 1024 threads of an SM

// Merges pairs over a cluster, as step 08 does (sm_90). All threads must call cluster_begin(), then cluster_merge().
__device__ inline void cluster_begin() {
#ifndef CUDA_EMU
#if __CUDA_ARCH__ >= 900
  cooperative_groups::this_cluster().barrier_arrive();
#endif
#endif
}
template <unsigned kBlocks>
__device__ MaxSum cluster_merge(MaxSum s) {
#ifndef CUDA_EMU
#if __CUDA_ARCH__ >= 900
  __shared__ MaxSum blocks[kBlocks];
  const auto cluster = cooperative_groups::this_cluster();
  const unsigned tid = threadIdx.x, lane = tid % 32;
  cluster.barrier_wait();  // all blocks have started: their shared memory may be written
  if (tid < kBlocks) *cluster.map_shared_rank(&blocks[cluster.block_rank()], tid) = s;
  cluster.sync();
  s = warp_merge(lane < kBlocks ? blocks[lane] : MaxSum{-INFINITY, 0.0f});
#endif
#endif
  return s;
}

// kBlocks blocks of 64 threads or more share a row; threads take its float4 in turn. A thread holds kHeld of them in
// registers and `chunks` more in shared memory. The first block also handles the elements at the row's edges.
template <unsigned kBlocks>
__global__ void __launch_bounds__(kBlocks == 1 ? 1024 : 512, kBlocks == 1 ? 1 : 2)
    row_softmax_held(const float* __restrict__ x, float* __restrict__ y, std::size_t cols, unsigned chunks) {
  extern __shared__ float4 shared[];  // [chunk][thread]
  if constexpr (kBlocks > 1) cluster_begin();
  const unsigned tid = threadIdx.x, threads = blockDim.x, rank = blockIdx.x % kBlocks;
  x += blockIdx.x / kBlocks * cols;
  y += blockIdx.x / kBlocks * cols;
  const Peeled<128> part(x, cols);
  const auto units = static_cast<unsigned>(part.units);
  const auto* const from = reinterpret_cast<const float4*>(x + part.head);
  const auto place = [=](unsigned k) { return (k * kBlocks + rank) * threads + tid; };  // the thread's k-th float4
  const float4 none = {-INFINITY, -INFINITY, -INFINITY, -INFINITY};

  // load
  for (unsigned k = 0; kBlocks > 1 && k < chunks; ++k) {
    const unsigned i = place(kHeld + k);
    if (i < units) {
      __pipeline_memcpy_async(&shared[k * threads + tid], from + i, sizeof(float4));
    } else {
      shared[k * threads + tid] = none;
    }
  }
  __pipeline_commit();
  const std::size_t at = rank == 0 ? part.edge(tid, cols) : cols;
  float edge = at < cols ? x[at] : -INFINITY;
  float4 v[kHeld];
#pragma unroll
  for (unsigned k = 0; k < kHeld; ++k) v[k] = place(k) < units ? from[place(k)] : none;
  __pipeline_wait_prior(0);

  // reduce: the thread's maximum, one exp per element in place; then over the block
  float max = edge;
#pragma unroll
  for (unsigned k = 0; k < kHeld; ++k) max = fmaxf(max, max4(v[k]));
  for (unsigned k = 0; kBlocks > 1 && k < chunks; ++k) max = fmaxf(max, max4(shared[k * threads + tid]));
  const float shift = shift_for(max);
  float sum = edge = expf(edge - shift);
#pragma unroll
  for (unsigned k = 0; k < kHeld; ++k) sum += sum4(v[k] = exp4(v[k], shift));
  for (unsigned k = 0; kBlocks > 1 && k < chunks; ++k) {
    sum += sum4(shared[k * threads + tid] = exp4(shared[k * threads + tid], shift));
  }
  MaxSum s = block_merge({max, sum});
  if constexpr (kBlocks > 1) s = cluster_merge<kBlocks>(s);

  // store
  const float factor = expf(max - s.max) / s.sum;
  const bool same = alike(x, y);
  const auto store = [&](unsigned k, float4 u) {
    const unsigned i = place(k);
    const float4 result = {u.x * factor, u.y * factor, u.z * factor, u.w * factor};
    if (i < units) store_unit(y + part.head + 4 * i, result, same);
  };
  if (at < cols) y[at] = edge * factor;
#pragma unroll
  for (unsigned k = 0; k < kHeld; ++k) store(k, v[k]);
  for (unsigned k = 0; kBlocks > 1 && k < chunks; ++k) store(kHeld + k, shared[k * threads + tid]);
}

// The longest row for one block: 1024 threads with kHeld float4 each, and three elements at the edges.
constexpr std::size_t kLongestInBlock = 4 * 1024 * kHeld + 3;

inline void launch_block(const float* x, float* y, std::size_t rows, std::size_t cols) {
  const auto warps = static_cast<unsigned>(ceil_div(cols / 4, std::size_t{32 * kHeld}));  // as few as hold the row
  row_softmax_held<1><<<static_cast<unsigned>(rows), 32 * std::max(warps, 2u)>>>(x, y, cols, 0);
  CUDA_CHECK(cudaGetLastError());
}

#ifndef CUDA_EMU
// The blocks of a cluster of `count`, for rows of `cols` elements: 256 threads, or 512 for longer rows.
struct ClusterBlocks {
  unsigned threads, chunks;
  ClusterBlocks(std::size_t cols, unsigned count) {
    const std::size_t units = ceil_div(cols / 4, std::size_t{count});
    threads = units <= 256 * (kHeld + kMostChunks) ? 256 : 512;
    const std::size_t all = ceil_div(units, std::size_t{threads});
    chunks = static_cast<unsigned>(std::min(all - std::min<std::size_t>(all, kHeld), std::size_t{kMostChunks} + 1));
  }
  int bytes() const { return static_cast<int>(chunks * threads * sizeof(float4)); }
  bool fit() const {
    return chunks <= kMostChunks && device_attribute(cudaDevAttrClusterLaunch) != 0 &&
           bytes() <= std::min(device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin), 227 << 10) - (1 << 10);
  }
};

template <unsigned kBlocks>
void launch_cluster(const float* x, float* y, std::size_t rows, std::size_t cols) {
  const ClusterBlocks blocks(cols, kBlocks);
  ClusterLaunch clusters(row_softmax_held<kBlocks>, kBlocks, blocks.threads, blocks.bytes());
  clusters.start(rows, x, y, cols, blocks.chunks);
}
#endif
