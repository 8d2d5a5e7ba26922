// Kernel for 65 to 16384 rows, 16-byte aligned: as few blocks as hold a tile of 32 columns in registers and shared
// memory, a cluster if there are several (sm_90). Unlike in step 04 a cluster takes one tile, and ends with it.
#pragma once
#include "../four_columns.cuh"
#ifndef CUDA_EMU
#include "launch_cluster.cuh"
#endif

#include <cooperative_groups.h>
#include <cuda_pipeline.h>

constexpr unsigned kTileLanes = 8, kTileColumns = 4 * kTileLanes;  // neighbouring threads, with four columns each
constexpr unsigned kTileThreads = 512, kTileWarps = kTileThreads / 32, kRowsAtOnce = kTileThreads / kTileLanes;
constexpr unsigned kTileHeld = 8;  // float4 per thread in registers, and as many in shared memory
constexpr unsigned kMostBlocks = 16;
constexpr std::size_t kTallest = std::size_t{kMostBlocks} * 2 * kTileHeld * kRowsAtOnce;

// Merges pairs over a cluster (sm_90 and newer). All threads must call cluster_begin() first, then
// columns_over_cluster() once. Thread 16 * column + j sends its block's pair of the column to block j; totals[] gets
// the cluster's pairs.
__device__ inline void cluster_begin() {
#ifndef CUDA_EMU
#if __CUDA_ARCH__ >= 900
  cooperative_groups::this_cluster().barrier_arrive();
#endif
#endif
}
template <unsigned kBlocks>
__device__ void columns_over_cluster(MaxSum of_block, MaxSum (&blocks)[kBlocks][kTileColumns], MaxSum* totals) {
#ifndef CUDA_EMU
#if __CUDA_ARCH__ >= 900
  const auto cluster = cooperative_groups::this_cluster();
  const unsigned tid = threadIdx.x, column = tid / kTileWarps, to = tid % kTileWarps;
  cluster.barrier_wait();  // all blocks have started: their shared memory may be written
  if (to < kBlocks) *cluster.map_shared_rank(&blocks[cluster.block_rank()][column], to) = of_block;
  cluster.sync();
  if (tid < kBlocks * kTileColumns) {
    const MaxSum total = warp_merge<kBlocks>(blocks[tid % kBlocks][tid / kBlocks]);
    if (tid % kBlocks == 0) totals[tid / kBlocks] = total;
  }
#endif
#endif
}

// kBlocks blocks share a tile. A thread's first kTileHeld float4 stay in registers, `chunks` more in shared memory.
template <unsigned kBlocks>
__global__ void __launch_bounds__(kTileThreads, 1024 / kTileThreads)
    col_softmax_held(const float* __restrict__ x, float* __restrict__ y, std::size_t rows, std::size_t cols,
                     unsigned chunks) {
  static_assert(kTileWarps * kTileColumns == kTileThreads && kBlocks <= kTileWarps, "one thread per warp and column");
  extern __shared__ float4 shared[];  // [chunk][thread]
  if constexpr (kBlocks > 1) cluster_begin();
  __shared__ MaxSum warps[kTileWarps][kTileColumns + 1], blocks[kBlocks][kTileColumns], totals[kTileColumns];
  const unsigned tid = threadIdx.x, c = tid % kTileLanes * 4, rank = blockIdx.x % kBlocks;
  const std::size_t col = std::size_t{blockIdx.x / kBlocks} * kTileColumns + c;
  const std::size_t first = rank * kRowsAtOnce + tid / kTileLanes, stride = kBlocks * kRowsAtOnce * cols;
  const std::size_t end = col < cols ? rows : 0;  // no return: all threads must reach the barriers
  const auto count = static_cast<unsigned>(first < end ? (end - first - 1) / (kBlocks * kRowsAtOnce) + 1 : 0);
  const float4 none = {-INFINITY, -INFINITY, -INFINITY, -INFINITY};
  x += first * cols + col;
  y += first * cols + col;

  // load
  for (unsigned k = 0; k < chunks; ++k) {
    if (kTileHeld + k < count) {
      __pipeline_memcpy_async(&shared[k * kTileThreads + tid], x + (kTileHeld + k) * stride, sizeof(float4));
    } else {
      shared[k * kTileThreads + tid] = none;
    }
  }
  __pipeline_commit();
  float4 v[kTileHeld];
#pragma unroll
  for (unsigned k = 0; k < kTileHeld; ++k) v[k] = k < count ? *reinterpret_cast<const float4*>(x + k * stride) : none;
  __pipeline_wait_prior(0);

  // reduce over the lanes: the maximum first, then one exp per element, in place
  float4 max = none, sum = {};
#pragma unroll
  for (unsigned k = 0; k < kTileHeld; ++k) max = maximum(max, v[k]);
  for (unsigned k = 0; k < chunks; ++k) max = maximum(max, shared[k * kTileThreads + tid]);
  max = over_lanes<kTileLanes, maximum>(max);
#pragma unroll
  for (unsigned k = 0; k < kTileHeld; ++k) sum = add(sum, v[k] = exp_below(v[k], max));
  for (unsigned k = 0; k < chunks; ++k) {
    float4* const slot = &shared[k * kTileThreads + tid];
    sum = add(sum, *slot = exp_below(*slot, max));
  }
  sum = over_lanes<kTileLanes, add>(sum);

  // merge the warps, then the blocks
  if (tid % 32 < kTileLanes) put4(warps[tid / 32], c, 1, max, sum);
  __syncthreads();
  const MaxSum of_block = warp_merge<kTileWarps>(warps[tid % kTileWarps][tid / kTileWarps]);
  if constexpr (kBlocks == 1) {
    if (tid % kTileWarps == 0) totals[tid / kTileWarps] = of_block;
  } else {
    columns_over_cluster(of_block, blocks, totals);
  }
  __syncthreads();

  // store
  const float4 factor = factor4(max, totals, c, 1);
  const auto store = [&](unsigned k, float4 u) {
    if (k < count) __stcs(reinterpret_cast<float4*>(y + k * stride), multiply(u, factor));
  };
#pragma unroll
  for (unsigned k = 0; k < kTileHeld; ++k) store(k, v[k]);
  for (unsigned k = 0; k < chunks; ++k) store(kTileHeld + k, shared[k * kTileThreads + tid]);
}

// Returns true if this device runs such clusters. 16 is not portable: sm_90 and sm_100 have it, sm_120 does not.
inline bool has_clusters(unsigned blocks) {
#ifndef CUDA_EMU
  const int major = device_attribute(cudaDevAttrComputeCapabilityMajor);
  if (blocks > 1) return blocks <= 8 ? major >= 9 : major == 9 || major == 10;
#endif
  return blocks == 1;
}

// count: the smallest power of two of blocks that hold the tile; chunks: float4 per thread in shared memory.
struct TileBlocks {
  unsigned count = 1, chunks;
  explicit TileBlocks(std::size_t rows) {
    while (count < kMostBlocks && rows > kTallest / kMostBlocks * count) count *= 2;
    const std::size_t all = ceil_div(rows, std::size_t{kRowsAtOnce} * count);
    chunks = static_cast<unsigned>(all - std::min<std::size_t>(all, kTileHeld));
  }
  int bytes() const { return static_cast<int>(chunks * kTileThreads * sizeof(float4)); }
  bool fit() const {
    const int most = std::min(device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin), 227 << 10);
    return bytes() + (9 << 10) <= most && has_clusters(count);  // 9 KB for the pairs of columns
  }
};

template <unsigned kBlocks>
void launch_tiles(const float* x, float* y, std::size_t rows, std::size_t cols, const TileBlocks& blocks) {
  const auto tiles = static_cast<unsigned>(ceil_div(cols, kTileColumns));
  if constexpr (kBlocks == 1) {
    const int bytes = blocks.bytes();
    CUDA_CHECK(cudaFuncSetAttribute(col_softmax_held<1>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    col_softmax_held<1><<<tiles, kTileThreads, bytes>>>(x, y, rows, cols, blocks.chunks);
    CUDA_CHECK(cudaGetLastError());
  } else {
#ifndef CUDA_EMU
    ClusterLaunch clusters(col_softmax_held<kBlocks>, kBlocks, kTileThreads, blocks.bytes());
    clusters.start(tiles, x, y, rows, cols, blocks.chunks);
#endif
  }
}

inline void launch_held(const float* x, float* y, std::size_t rows, std::size_t cols) {
  const TileBlocks blocks(rows);
  const auto run = blocks.count == 1   ? launch_tiles<1>
                   : blocks.count == 2 ? launch_tiles<2>
                   : blocks.count == 4 ? launch_tiles<4>
                   : blocks.count == 8 ? launch_tiles<8>
                                       : launch_tiles<16>;
  run(x, y, rows, cols, blocks);
}

// Numerator: 2 exps, division, product. Denominator: exp, a thread's and its lanes' additions, 10 per merge above.
inline std::size_t roundings_held() { return 10 + 4 + 2 * kTileHeld + 2 + 20; }
