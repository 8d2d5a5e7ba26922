// Problem:  step 03's tile takes only 32 bytes of each row, and an SM does not load while it computes.
// Idea:     a cluster of 8 blocks shares a tile of 32 columns, a 128-byte line of each row; registers hold it. cp.async
//           fetches the next tile meanwhile, and a second block on the SM runs while the first waits.
// Expect:   0.9 of a copy at 4096 x 4096: on an H100 a kernel that only copies in such tiles takes 54 us, a copy 49.
// Measured: 1.35x step 03, 0.81 of a copy at 4096x4096 (H200); 1.26x, 0.88 (H100).
// Why:      the H200 loads faster, but its merges and barriers are no faster. ncu (H200): 26 % of the stalls are at the
//           fence that begins cluster.sync(), 15 % at barriers, 12 % at loads.
// Next:     a tile is 4096 lines of 128 bytes, 16 KB apart; a copy reads contiguously. Does that matter to DRAM?
// needs: sm_90
#include "col_softmax.cuh"
#include "four_columns.cuh"
#include "launch_cluster.cuh"

#include <cooperative_groups.h>
#include <cuda_pipeline.h>

namespace cg = cooperative_groups;

constexpr unsigned kLanes = 8, kColumns = 4 * kLanes;  // neighbouring threads, and their columns, 4 each
constexpr unsigned kBlock = 512, kWarps = kBlock / 32, kCluster = 8;
constexpr unsigned kRows = kCluster * kBlock / kLanes;  // rows that a cluster reads at once
constexpr unsigned kKept = 8;                           // float4 in each thread's registers
static_assert(kWarps * kColumns == kBlock && kCluster <= kWarps, "one thread per warp and column");

// kAligned: see float4_row.cuh. kRemainder: there are more rows than the cluster holds.
template <bool kAligned, bool kRemainder>
__global__ void __launch_bounds__(kBlock, 2) col_softmax_cluster(const float* __restrict__ x, float* __restrict__ y,
                                                                 std::size_t rows, std::size_t cols, unsigned tiles) {
#if __CUDA_ARCH__ >= 900            // any_shape uses this kernel and is compiled for older GPUs too
  extern __shared__ float4 next[];  // [k][thread]: of the next tile
  __shared__ MaxSum warps[kWarps][kColumns + 1], blocks[2][kCluster][kColumns], totals[kColumns];
  const cg::cluster_group cluster = cg::this_cluster();
  const unsigned tid = threadIdx.x, rank = blockIdx.x % kCluster, step = gridDim.x / kCluster;
  // In a tile the thread's columns are c + i * col_stride, i = 0..3; its `count` rows are `first` and every kRows-th.
  constexpr unsigned col_stride = kAligned ? 1 : kLanes;
  const unsigned c = kAligned ? tid % kLanes * 4 : tid % kLanes;
  const std::size_t first = rank * (kBlock / kLanes) + tid / kLanes, stride = kRows * cols;
  const auto count = static_cast<unsigned>(first < rows ? (rows - first - 1) / kRows + 1 : 0);
  const float4 none = {-INFINITY, -INFINITY, -INFINITY, -INFINITY};
  x += first * cols;
  y += first * cols;

  const auto copy = [&](std::size_t col) {
#pragma unroll
    for (unsigned k = 0; k < kKept; ++k) {
      float* const to = reinterpret_cast<float*>(&next[k * kBlock + tid]);
      const float* const from = x + k * stride + col;
      for (unsigned i = 0; i < 4; i += kAligned ? 4 : 1) {
        if (k < count && col + i * col_stride < cols) {
          __pipeline_memcpy_async(to + i, from + i * col_stride, kAligned ? 16 : 4);
        } else if (kAligned) {
          next[k * kBlock + tid] = none;
        } else {
          to[i] = -INFINITY;
        }
      }
    }
    __pipeline_commit();
  };

  // prologue: the first tile
  unsigned tile = blockIdx.x / kCluster;
  copy(std::size_t{tile} * kColumns + c);
  cluster.sync();  // all blocks have started: their shared memory may be written
  for (unsigned buffer = 0; tile < tiles; tile += step, buffer ^= 1) {
    const std::size_t col = std::size_t{tile} * kColumns + c;
    // the remainder by the online rule, before v[] takes the registers
    float4 remainder_max = none, remainder_sum = {};
    for (unsigned k = kKept; kRemainder && k < count; ++k) {
      const float4 u = load4<kAligned>(x + k * stride, col, cols, col_stride), larger = maximum(remainder_max, u);
      remainder_sum = add(multiply(remainder_sum, exp_below(remainder_max, larger)), exp_below(u, larger));
      remainder_max = larger;
    }

    // this tile to registers, the next one in flight
    float4 v[kKept];
    __pipeline_wait_prior(0);
#pragma unroll
    for (unsigned k = 0; k < kKept; ++k) v[k] = next[k * kBlock + tid];
    if (tile + step < tiles) copy(col + std::size_t{step} * kColumns);

    // reduce over the lanes: the maximum first, then one exp per element
    float4 max = remainder_max, sum = {};
#pragma unroll
    for (unsigned k = 0; k < kKept; ++k) max = maximum(max, v[k]);
    max = over_lanes<kLanes, maximum>(max);
    if (kRemainder) sum = multiply(remainder_sum, exp_below(remainder_max, max));
#pragma unroll
    for (unsigned k = 0; k < kKept; ++k) sum = add(sum, v[k] = exp_below(v[k], max));
    sum = over_lanes<kLanes, add>(sum);

    // merge the warps, then the blocks
    if (tid % 32 < kLanes) put4(warps[tid / 32], c, col_stride, max, sum);
    __syncthreads();
    const unsigned column = tid / kWarps, warp = tid % kWarps;
    const MaxSum of_block = warp_merge<kWarps>(warps[warp][column]);
    // Two buffers: a fast block writes its next pairs while slow ones read these. cluster.sync() bounds its lead.
    if (warp < kCluster) *cluster.map_shared_rank(&blocks[buffer][rank][column], warp) = of_block;
    cluster.sync();
    if (tid < kCluster * kColumns) {
      const MaxSum total = warp_merge<kCluster>(blocks[buffer][tid % kCluster][tid / kCluster]);
      if (tid % kCluster == 0) totals[tid / kCluster] = total;
    }
    __syncthreads();

    // store
    const float4 f = factor4(max, totals, c, col_stride);
#pragma unroll
    for (unsigned k = 0; k < kKept; ++k) {
      if (k < count) store4<kAligned, kEvictFirst>(y + k * stride, col, cols, col_stride, multiply(v[k], f));
    }
    for (unsigned k = kKept; kRemainder && k < count; ++k) {
      const float4 e = exp_below(load4<kAligned>(x + k * stride, col, cols, col_stride), max);
      store4<kAligned, kEvictFirst>(y + k * stride, col, cols, col_stride, multiply(e, f));
    }
  }
#endif
}

template <bool kAligned, bool kRemainder>
static void start(const float* x, float* y, std::size_t rows, std::size_t cols) {
  const auto tiles = static_cast<unsigned>(ceil_div(cols, kColumns));
  ClusterLaunch clusters(col_softmax_cluster<kAligned, kRemainder>, kCluster, kBlock, kKept * kBlock * sizeof(float4));
  clusters.start(std::min(tiles, clusters.resident()), x, y, rows, cols, tiles);
}

static void launch_cluster(const float* x, float* y, std::size_t rows, std::size_t cols) {
  if (rows == 0 || cols == 0) return;
  const bool aligned = aligned_for<float4>(x, y) && cols % 4 == 0, remainder = rows > kKept * kRows;
  const auto run = aligned ? (remainder ? start<true, true> : start<true, false>)  //
                           : (remainder ? start<false, true> : start<false, false>);
  run(x, y, rows, cols);
}

// Numerator: 2 exps, division, product. Denominator: 6 per merge of the remainder, exp and product for its sum; exp and
// additions of what is held; over the lanes; 10 over the warps and 10 over the blocks.
static std::size_t roundings_cluster(std::size_t rows) {
  const std::size_t remainder = rows - std::min<std::size_t>(rows, kKept * kRows);
  return 10 + 6 * ceil_div(remainder, kRows) + 5 + 4 + kKept + 2 + 20;
}

LADDER_STEP(ColSoftmax, launch_cluster, roundings_cluster);
