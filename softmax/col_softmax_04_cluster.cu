// Step 03's tile takes 32 bytes of each row, and an SM that computes does not load. Idea: a cluster of 8 blocks shares
// a tile 32 columns wide, whole lines of 128 bytes; 4096 rows of it fit into the cluster's registers. Blocks stay for
// many tiles: as soon as one is in registers, cp.async fetches the next into shared memory. Each thread reads only what
// it has copied itself, so that needs no barrier. And two such blocks on an SM: while one waits for the other blocks of
// its cluster, the other goes on. What is beyond 4096 rows is read again, as in step 03.
// A tile takes three merges: over the lanes with the same columns by shuffles, over the warps through shared memory,
// over the blocks by writing into each other's.
// Expect: 0.9 of a copy. A cluster's SMs are neighbours, in one GPC, and a few of the 132 fit into no group of 8.
// Next question: a tile is 4096 lines of 128 bytes, 16 KB apart; a copy reads from end to end. Does DRAM care?
// needs: sm_90
#include "col_softmax.cuh"
#include "float4_row.cuh"

#include <cooperative_groups.h>
#include <cuda_pipeline.h>

namespace cg = cooperative_groups;

constexpr unsigned kLanes = 8, kColumns = 4 * kLanes;  // threads side by side, and their columns, 4 each
constexpr unsigned kBlock = 512, kWarps = kBlock / 32, kCluster = 8;
constexpr unsigned kRows = kCluster * kBlock / kLanes;  // that a cluster reads at once
constexpr unsigned kKept = 8;                           // float4 in each thread's registers
static_assert(kWarps * kColumns == kBlock && kCluster <= kWarps, "a thread for each warp and column");

template <class F>
__device__ static float4 map(float4 a, float4 b, F f) {
  return {f(a.x, b.x), f(a.y, b.y), f(a.z, b.z), f(a.w, b.w)};
}

// Over the lanes with the same columns, in each of them. All 32 lanes must call it.
template <class F>
__device__ static float4 over_lanes(float4 v, F f) {
#pragma unroll
  for (unsigned offset = 16; offset >= kLanes; offset /= 2) {
    const auto theirs = [&](float own) { return __shfl_xor_sync(0xffffffff, own, offset); };
    v = map(v, {theirs(v.x), theirs(v.y), theirs(v.z), theirs(v.w)}, f);
  }
  return v;
}

template <bool vector, bool rest>  // how a thread's columns lie (float4_row.cuh); more rows than are kept?
__global__ void __launch_bounds__(kBlock, 2) col_softmax_cluster(const float* __restrict__ x, float* __restrict__ y,
                                                                 std::size_t rows, std::size_t cols, unsigned tiles) {
  extern __shared__ float4 next[];  // [k][thread]: of the next tile
  __shared__ MaxSum warps[kWarps][kColumns + 1], blocks[2][kCluster][kColumns], totals[kColumns];
  const cg::cluster_group cluster = cg::this_cluster();
  const unsigned tid = threadIdx.x, rank = blockIdx.x % kCluster, step = gridDim.x / kCluster;
  // In a tile the thread's columns are c, c + apart, c + 2 apart, c + 3 apart; its rows are `first` and every kRows-th.
  constexpr unsigned apart = vector ? 1 : kLanes;
  const unsigned c = vector ? tid % kLanes * 4 : tid % kLanes;
  const std::size_t first = rank * (kBlock / kLanes) + tid / kLanes, stride = kRows * cols;
  const auto mine = static_cast<unsigned>(first < rows ? (rows - first - 1) / kRows + 1 : 0);
  const float4 none = {-INFINITY, -INFINITY, -INFINITY, -INFINITY};
  x += first * cols;
  y += first * cols;

  const auto copy = [&](std::size_t col) {
#pragma unroll
    for (unsigned k = 0; k < kKept; ++k) {
      float4* const to = &next[k * kBlock + tid];
      if (k >= mine || col + 3 * apart >= cols) *to = none;
      for (unsigned i = 0; i < (vector ? 1 : 4) && k < mine && col + i * apart < cols; ++i) {
        __pipeline_memcpy_async(reinterpret_cast<float*>(to) + i, x + k * stride + col + i * apart, vector ? 16 : 4);
      }
    }
    __pipeline_commit();
  };
  const auto larger = [](float a, float b) { return fmaxf(a, b); };
  const auto plus = [](float a, float b) { return a + b; };
  const auto times = [](float a, float b) { return a * b; };
  const auto exp_below = [](float a, float max) { return expf(a - shift_for(max)); };

  unsigned tile = blockIdx.x / kCluster;
  copy(std::size_t{tile} * kColumns + c);
  cluster.sync();  // no block may be written to before it has started
  for (unsigned buffer = 0; tile < tiles; tile += step, buffer ^= 1) {
    const std::size_t col = std::size_t{tile} * kColumns + c;
    float4 rest_max = none, rest_sum = {};  // by the online rule, and before v[] takes the registers
    for (unsigned k = kKept; rest && k < mine; ++k) {
      const float4 u = load4<vector>(x + k * stride, col, cols, apart), above = map(rest_max, u, larger);
      rest_sum = map(map(rest_sum, map(rest_max, above, exp_below), times), map(u, above, exp_below), plus);
      rest_max = above;
    }

    float4 v[kKept];
    __pipeline_wait_prior(0);
#pragma unroll
    for (unsigned k = 0; k < kKept; ++k) v[k] = next[k * kBlock + tid];
    if (tile + step < tiles) copy(col + std::size_t{step} * kColumns);

    float4 max = rest_max, sum = {};
#pragma unroll
    for (unsigned k = 0; k < kKept; ++k) max = map(max, v[k], larger);
    max = over_lanes(max, larger);
    if (rest) sum = map(rest_sum, map(rest_max, max, exp_below), times);
#pragma unroll
    for (unsigned k = 0; k < kKept; ++k) sum = map(sum, v[k] = map(v[k], max, exp_below), plus);
    sum = over_lanes(sum, plus);

    if (tid % 32 < kLanes) {
      MaxSum* const to = &warps[tid / 32][c];
      to[0] = {max.x, sum.x}, to[apart] = {max.y, sum.y}, to[2 * apart] = {max.z, sum.z},
      to[3 * apart] = {max.w, sum.w};
    }
    __syncthreads();
    const unsigned column = tid / kWarps, warp = tid % kWarps;
    const MaxSum of_block = group_merge<kWarps>(warps[warp][column]);
    // Two buffers: a fast block's next pairs come while slow ones read these, but none after the next cluster.sync().
    if (warp < kCluster) *cluster.map_shared_rank(&blocks[buffer][rank][column], warp) = of_block;
    cluster.sync();
    if (tid < kCluster * kColumns) {
      const MaxSum total = group_merge<kCluster>(blocks[buffer][tid % kCluster][tid / kCluster]);
      if (tid % kCluster == 0) totals[tid / kCluster] = total;
    }
    __syncthreads();

    const auto factor = [&](float max, MaxSum total) { return expf(max - total.max) / total.sum; };
    const float4 f = {factor(max.x, totals[c]), factor(max.y, totals[c + apart]), factor(max.z, totals[c + 2 * apart]),
                      factor(max.w, totals[c + 3 * apart])};
#pragma unroll
    for (unsigned k = 0; k < kKept; ++k) {
      if (k < mine) store4<vector, kStreaming>(y + k * stride, col, cols, apart, map(v[k], f, times));
    }
    for (unsigned k = kKept; rest && k < mine; ++k) {
      const float4 e = map(load4<vector>(x + k * stride, col, cols, apart), max, exp_below);
      store4<vector, kStreaming>(y + k * stride, col, cols, apart, map(e, f, times));
    }
  }
}

template <bool vector, bool rest>
static void start(const float* x, float* y, std::size_t rows, std::size_t cols) {
  const auto kernel = col_softmax_cluster<vector, rest>;
  constexpr unsigned bytes = kKept * kBlock * sizeof(float4);
  cudaLaunchAttribute cluster = {};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim = {kCluster, 1, 1};
  cudaLaunchConfig_t config = {kCluster, kBlock, bytes, nullptr, &cluster, 1};
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  int resident = 0;  // clusters that the GPU has room for
  CUDA_CHECK(cudaOccupancyMaxActiveClusters(&resident, kernel, &config));
  const auto tiles = static_cast<unsigned>(ceil_div(cols, kColumns));
  config.gridDim = std::min(tiles, static_cast<unsigned>(resident)) * kCluster;
  CUDA_CHECK(cudaLaunchKernelEx(&config, kernel, x, y, rows, cols, tiles));
}

static void launch(const float* x, float* y, std::size_t rows, std::size_t cols) {
  if (rows == 0 || cols == 0) return;
  const bool vector = aligned_for<float4>(x, y) && cols % 4 == 0, rest = rows > kKept * kRows;
  const auto run = vector ? (rest ? start<true, true> : start<true, false>)  //
                          : (rest ? start<false, true> : start<false, false>);
  run(x, y, rows, cols);
}

// exp twice, division and product above; below, exp, product and addition for each element of the rest, exp and product
// for all of them, exp and the additions of what is kept, then over the lanes, and, with exp and product, over the warps
// and over the blocks.
static std::size_t roundings(std::size_t rows) {
  const std::size_t rest = rows - std::min<std::size_t>(rows, kKept * kRows);
  return 10 + 6 * ceil_div(rest, kRows) + 5 + 4 + kKept + 2 + (5 + 4) + (5 + 3);
}

LADDER_STEP(ColSoftmax, launch, roundings);
