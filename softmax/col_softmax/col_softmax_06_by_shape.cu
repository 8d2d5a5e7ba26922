// Problem:  steps 04 and 05 each win at other shapes. Step 04 spends half of what an SM holds on the next tile, hence
//           keeps 4096 rows, in always 8 blocks; step 05's blocks exchange pairs through global memory.
// Idea:     clusters of 1 to 16 blocks, whose shared memory has more rows of the tile, 16384 at most, or, as in step
//           04, the next tile. A table says which (col_shapes.hpp); teams take what no cluster holds.
// Expect:   0.68 to 0.84 of a copy from 1024 to 16384 aligned rows, 0.55 to 0.68 where rows are not aligned; at
//           4096 x 4096 and 65536 x 128 what steps 04 and 05 have, whose kernels it takes there.
// Measured: 1.18x step 05, 69x cuDNN at 4096x4096 (H200).
// Why:      0.79, 0.72 and 0.60 of a copy at 4096 x 4096, 16384 x 4096 and 65536 x 128, as expected; 0.85 at 4096 x
//           4096 is missed, and no other cluster, tile or kind of load was faster there (see the chapter).
// Next:     what would it take to come nearer to a copy at 4096 x 4096?
// needs: sm_90
#include "col_cluster.cuh"
#include "col_few_rows.cuh"
#include "col_shapes.hpp"
#include "col_team.cuh"
#include "launch_cluster.cuh"

#include <cuda_pipeline.h>

#include <utility>

namespace cg = cooperative_groups;

constexpr unsigned kKept = 8;  // float4 in each thread's registers, and at most as many in shared memory

// kAligned: see float4_row.cuh; the others: see col_shapes.hpp. kAhead: clusters stay, and fetch the next tile while
// they work on one. Else there is one for each tile, and `chunks` float4 of each thread are in shared memory.
template <bool kAligned, unsigned kLanes, unsigned kBlock, unsigned kCluster, bool kAhead>
__global__ void __launch_bounds__(kBlock, 1024 / kBlock)
    col_softmax_by_shape(const float* __restrict__ x, float* __restrict__ y, std::size_t rows, std::size_t cols,
                         unsigned tiles, unsigned chunks) {
  constexpr unsigned kColumns = 4 * kLanes, kRows = kCluster * kBlock / kLanes;
  extern __shared__ float4 shared[];  // [k][thread]
  const cg::cluster_group cluster = cg::this_cluster();
  cluster.barrier_arrive();
  const unsigned tid = threadIdx.x, rank = blockIdx.x % kCluster, step = gridDim.x / kCluster;
  // In a tile the thread's columns are c + i * col_stride, i = 0..3; its `count` rows are `first` and every kRows-th.
  constexpr unsigned col_stride = kAligned ? 1 : kLanes;
  const unsigned c = kAligned ? tid % kLanes * 4 : tid % kLanes;
  const std::size_t first = rank * (kBlock / kLanes) + tid / kLanes, stride = kRows * cols;
  const auto count = static_cast<unsigned>(first < rows ? (rows - first - 1) / kRows + 1 : 0);
  const float4 none = {-INFINITY, -INFINITY, -INFINITY, -INFINITY};
  x += first * cols;
  y += first * cols;

  // to shared memory: `many` of the thread's rows, from number `from` on
  const auto copy = [&](std::size_t col, unsigned from, unsigned many) {
#pragma unroll(kAhead ? kKept : 1)
    for (unsigned k = 0; k < many; ++k) {
      float4* const to = &shared[k * kBlock + tid];
      const bool inside = from + k < count;
      if (!inside || col + 3 * col_stride >= cols) *to = none;
      for (unsigned i = 0; i < (kAligned ? 1 : 4) && inside && col + i * col_stride < cols; ++i) {
        __pipeline_memcpy_async(reinterpret_cast<float*>(to) + i, x + (from + k) * stride + col + i * col_stride,
                                kAligned ? 16 : 4);
      }
    }
    __pipeline_commit();
  };

  unsigned tile = blockIdx.x / kCluster;
  if (kAhead) copy(std::size_t{tile} * kColumns + c, 0, kKept);
  cluster.barrier_wait();  // all blocks have started: they may be written to
  for (unsigned buffer = 0; tile < tiles; tile += step, buffer ^= 1) {
    const std::size_t col = std::size_t{tile} * kColumns + c;
    // load: this tile from shared memory, the next one in flight; or all of this one
    float4 v[kKept];
    if constexpr (kAhead) {
      __pipeline_wait_prior(0);
#pragma unroll
      for (unsigned k = 0; k < kKept; ++k) v[k] = shared[k * kBlock + tid];
      if (tile + step < tiles) copy(col + std::size_t{step} * kColumns, 0, kKept);
    } else {
      copy(col, kKept, chunks);
#pragma unroll
      for (unsigned k = 0; k < kKept; ++k) {
        v[k] = k < count ? load4<kAligned>(x + k * stride, col, cols, col_stride) : none;
      }
      __pipeline_wait_prior(0);
    }

    // reduce over the lanes: the maximum first, then one exp per element, in place
    float4 max = none, sum = {};
#pragma unroll
    for (unsigned k = 0; k < kKept; ++k) max = maximum(max, v[k]);
#pragma unroll 1
    for (unsigned k = 0; !kAhead && k < chunks; ++k) max = maximum(max, shared[k * kBlock + tid]);
    max = over_lanes<kLanes, maximum>(max);
#pragma unroll
    for (unsigned k = 0; k < kKept; ++k) sum = add(sum, v[k] = exp_below(v[k], max));
#pragma unroll 1
    for (unsigned k = 0; !kAhead && k < chunks; ++k) {
      sum = add(sum, shared[k * kBlock + tid] = exp_below(shared[k * kBlock + tid], max));
    }
    sum = over_lanes<kLanes, add>(sum);

    // merge over warps and blocks, store
    const float4 f = cluster_factor<kLanes, kBlock, kCluster>(max, sum, c, col_stride, buffer);
    const auto store = [&](unsigned k, float4 u) {
      if (k < count) store4<kAligned, kEvictFirst>(y + k * stride, col, cols, col_stride, multiply(u, f));
    };
#pragma unroll
    for (unsigned k = 0; k < kKept; ++k) store(k, v[k]);
#pragma unroll 1
    for (unsigned k = 0; !kAhead && k < chunks; ++k) store(kKept + k, shared[k * kBlock + tid]);
    if (!kAhead) break;
  }
}

using Kernel = decltype(&col_softmax_by_shape<true, 8, 512, 8, true>);
template <std::size_t... i>
static Kernel kernel_of(std::size_t shape, std::index_sequence<i...>) {
  static constexpr Kernel kernels[] = {
      col_softmax_by_shape<kColShapes[i].aligned, kColShapes[i].lanes, kColShapes[i].block, kColShapes[i].blocks,
                           kColShapes[i].ahead>...};
  return kernels[shape];
}

static void launch_clusters(const float* x, float* y, std::size_t rows, std::size_t cols, std::size_t shape) {
  const ColShape& s = kColShapes[shape];
  const Kernel kernel = kernel_of(shape, std::make_index_sequence<kColShapeCount>{});
  const auto all = static_cast<unsigned>(ceil_div(rows, std::size_t{s.blocks} * (s.block / s.lanes)));
  const unsigned chunks = s.ahead ? kKept : all - std::min(all, kKept);
  const std::size_t bytes = std::size_t{chunks} * s.block * sizeof(float4);
  const auto tiles = static_cast<unsigned>(ceil_div(cols, std::size_t{4} * s.lanes));
  ClusterLaunch clusters(kernel, s.blocks, s.block, bytes);
  clusters.start(s.ahead ? std::min(tiles, clusters.resident()) : tiles, x, y, rows, cols, tiles, chunks);
}

// As in step 05, but few rows need no team (few_rows in col_shapes.hpp), for rows that are not aligned there are tiles
// 64 columns wide between the wide and the narrow ones, and of rows that no block keeps four are loaded at a time.
using Medium = Team<512, 64, 32, 2>;
using NarrowTall = Team<512, 32, 32, 2, 4>;
using FewColumnsTall = Team<256, 8, 32, 4, 4>;

static void launch_teams(const float* x, float* y, std::size_t rows, std::size_t cols) {
  const bool sectors = cols % 8 == 0;
  const bool few = few_rows(rows, cols);
  const auto run = few && rows == 1              ? FewRows<1>::start
                   : few && rows <= 4            ? FewRows<4>::start
                   : few && rows <= 16           ? FewRows<16>::start
                   : few                         ? FewRows<64>::start
                   : rows <= 64                  ? Rows64::start
                   : cols <= 16                  ? FewColumnsTall::start
                   : !sectors && rows <= 2048    ? Wide::start
                   : !sectors && rows <= 1 << 15 ? Medium::start
                                                 : NarrowTall::start;
  run(x, y, rows, cols);
}

static void launch(const float* x, float* y, std::size_t rows, std::size_t cols) {
  if (rows == 0 || cols == 0) return;
  const std::size_t shape = col_shape(rows, cols, aligned_for<float4>(x, y) && cols % 4 == 0);
  if (shape < kColShapeCount) return launch_clusters(x, y, rows, cols, shape);
  launch_teams(x, y, rows, cols);
}

// Of clusters: numerator exp twice, division and product. Denominator: exp, and the additions in the thread, over the
// lanes and, with exp and product, over the warps and over the blocks.
static std::size_t roundings(std::size_t rows) {
  const std::size_t clusters = 10 + 4 + 2 * kKept + 2 + (5 + 4) + (5 + 4);
  const std::size_t teams = rows <= 64 ? std::max(FewRows<64>::column_roundings(), Rows64::team_roundings(rows))
                                       : std::max({FewColumnsTall::team_roundings(rows), Wide::team_roundings(rows),
                                                   Medium::team_roundings(rows), NarrowTall::team_roundings(rows)});
  return std::max(clusters, teams);
}

LADDER_STEP(ColSoftmax, launch, roundings);
