// Problem:  steps 04 and 05 each win at other shapes. Step 04 spends half of what an SM holds on the next tile, hence
//           keeps 4096 rows, in always 8 blocks; step 05's blocks exchange pairs through global memory.
// Idea:     clusters of 1 to 16 blocks, whose shared memory has more rows of the tile, 16384 at most, or, as in step
//           04, the next tile. A table says which (col_shapes.hpp); teams take what no cluster holds.
// Expect:   0.68 to 0.84 of a copy from 1024 to 16384 aligned rows, 0.55 to 0.68 where rows are not aligned; at
//           4096 x 4096 and 65536 x 128 what steps 04 and 05 have, whose kernels it takes there.
// Measured: 1.19x step 05, 71x cuDNN at 4096x4096 (H200).
// Why:      0.80, 0.72 and 0.61 of a copy at 4096 x 4096, 16384 x 4096 and 65536 x 128, as expected; 0.85 at 4096 x
//           4096 is missed, and no other cluster, tile or kind of load was faster there (see the chapter).
// Next:     what would it take to come nearer to a copy at 4096 x 4096?
// needs: sm_90
#include "col_softmax.cuh"
#include "col_shapes.hpp"
#include "col_team.cuh"
#include "float4_row.cuh"

#include <cooperative_groups.h>
#include <cuda_pipeline.h>

#include <utility>

namespace cg = cooperative_groups;

constexpr unsigned kKept = 8;  // float4 in each thread's registers, and at most as many in shared memory

__device__ static float4 maximum(float4 a, float4 b) {
  return {fmaxf(a.x, b.x), fmaxf(a.y, b.y), fmaxf(a.z, b.z), fmaxf(a.w, b.w)};
}
__device__ static float4 add(float4 a, float4 b) { return {a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w}; }
__device__ static float4 multiply(float4 a, float4 b) { return {a.x * b.x, a.y * b.y, a.z * b.z, a.w * b.w}; }
// exp(v - max), each column with its own maximum.
__device__ static float4 exp_below(float4 v, float4 max) {
  return {expf(v.x - shift_for(max.x)), expf(v.y - shift_for(max.y)), expf(v.z - shift_for(max.z)),
          expf(v.w - shift_for(max.w))};
}

// Maximum or sum over the lanes with the same columns, returned to each of them. All 32 lanes must call it.
template <unsigned kLanes, float4 (*kOp)(float4, float4)>
__device__ static float4 over_lanes(float4 v) {
#pragma unroll
  for (unsigned offset = 16; offset >= kLanes; offset /= 2) {
    const auto other = [&](float own) { return __shfl_xor_sync(0xffffffff, own, offset); };
    v = kOp(v, {other(v.x), other(v.y), other(v.z), other(v.w)});
  }
  return v;
}

// kAligned: see float4_row.cuh; the others: see col_shapes.hpp. kAhead: clusters stay, and fetch the next tile while
// they work on one. Else there is one for each tile, and `chunks` float4 of each thread are in shared memory.
template <bool kAligned, unsigned kLanes, unsigned kBlock, unsigned kCluster, bool kAhead>
__global__ void __launch_bounds__(kBlock, 1024 / kBlock)
    col_softmax_by_shape(const float* __restrict__ x, float* __restrict__ y, std::size_t rows, std::size_t cols,
                         unsigned tiles, unsigned chunks) {
  constexpr unsigned kColumns = 4 * kLanes, kWarps = kBlock / 32, kRows = kCluster * kBlock / kLanes;
  extern __shared__ float4 shared[];  // [k][thread]
  __shared__ MaxSum warps[kWarps][kColumns + 1], blocks[2][kCluster][kColumns], totals[kColumns];
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

    // merge the warps, then the blocks
    if (tid % 32 < kLanes) {
      MaxSum* const to = &warps[tid / 32][c];
      to[0] = {max.x, sum.x}, to[col_stride] = {max.y, sum.y}, to[2 * col_stride] = {max.z, sum.z},
      to[3 * col_stride] = {max.w, sum.w};
    }
    __syncthreads();
#pragma unroll
    for (unsigned t = tid; t < kColumns * kWarps; t += kBlock) {
      const unsigned column = t / kWarps, warp = t % kWarps;
      const MaxSum of_block = group_merge<kWarps>(warps[warp][column]);
      if (kCluster == 1 && warp == 0) totals[column] = of_block;
      // Two buffers: a fast block's next pairs come while slow ones read these, but none after the next cluster.sync().
      for (unsigned b = warp; kCluster > 1 && b < kCluster; b += kWarps) {
        *cluster.map_shared_rank(&blocks[buffer][rank][column], b) = of_block;
      }
    }
    if (kCluster > 1) {
      cluster.sync();
#pragma unroll
      for (unsigned t = tid; t < kCluster * kColumns; t += kBlock) {
        const MaxSum total = group_merge<kCluster>(blocks[buffer][t % kCluster][t / kCluster]);
        if (t % kCluster == 0) totals[t / kCluster] = total;
      }
    }
    __syncthreads();

    // store
    const auto factor = [&](float max, MaxSum total) { return expf(max - total.max) / total.sum; };
    const float4 f = {factor(max.x, totals[c]), factor(max.y, totals[c + col_stride]),
                      factor(max.z, totals[c + 2 * col_stride]), factor(max.w, totals[c + 3 * col_stride])};
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
  cudaLaunchAttribute cluster = {};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim = {s.blocks, 1, 1};
  cudaLaunchConfig_t config = {s.blocks, s.block, bytes, nullptr, &cluster, 1};
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)));
  if (s.blocks > 8) CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
  int clusters = static_cast<int>(tiles);
  if (s.ahead) CUDA_CHECK(cudaOccupancyMaxActiveClusters(&clusters, kernel, &config));
  config.gridDim = std::min(tiles, static_cast<unsigned>(clusters)) * s.blocks;
  CUDA_CHECK(cudaLaunchKernelEx(&config, kernel, x, y, rows, cols, tiles, chunks));
}

// As in step 05, but for rows that are not aligned there are tiles 64 columns wide between the wide and the narrow
// ones, and of rows that no block keeps four are loaded at a time.
using Medium = Team<512, 64, 32, 2>;
using NarrowTall = Team<512, 32, 32, 2, 4>;
using FewColumnsTall = Team<256, 8, 32, 4, 4>;

static void launch_teams(const float* x, float* y, std::size_t rows, std::size_t cols) {
  const bool sectors = cols % 8 == 0;
  const auto run = rows <= 4                     ? Rows4::start
                   : rows <= 16                  ? Rows16::start
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
  const std::size_t teams = rows <= 4    ? Rows4::team_roundings(rows)
                            : rows <= 16 ? Rows16::team_roundings(rows)
                            : rows <= 64 ? Rows64::team_roundings(rows)
                                         : std::max({FewColumnsTall::team_roundings(rows), Wide::team_roundings(rows),
                                                     Medium::team_roundings(rows), NarrowTall::team_roundings(rows)});
  return std::max(clusters, teams);
}

LADDER_STEP(ColSoftmax, launch, roundings);
