// Problem:  step 11 reads rows of more than 32,771 elements twice, though four or eight blocks could hold them.
// Idea:     up to 344,000 elements a cluster of 4 or 8 blocks keeps the row, as in step 09, but peeled: float4 loads and
//           cp.async do not need aligned rows.
// Expect:   0.85 to 0.95 of a copy from 32,772 to 344,000 elements: pairs pass from SM to SM, beside the transfers.
// Measured: 1.00x step 11, 1.67x cuDNN at 32768x1024 (H200); 1.00x, 1.28x (H100).
// Why:      at 1024 columns both take the same kernel. At 1024 x 131072 1.11x step 11, 0.92 of a copy (H200); 1.04x, 0.98
//           (H100).
// Next:     why does a pair through global memory take so much longer than one through the cluster?
// needs: sm_90
#include "row_softmax.cuh"
#include "launch_cluster.cuh"
#include "row_registers.cuh"
#include "../row_relay.cuh"
#include "../two_passes.cuh"

#include <cooperative_groups.h>

namespace cg = cooperative_groups;

// Merges the warps of a block, then the blocks of the cluster; returned to every thread. All threads of the cluster
// must call it, once, after barrier_arrive().
template <unsigned kBlocks, unsigned kBlock>
__device__ static MaxSum merge_cluster(MaxSum s) {
  __shared__ float2 warps[kBlock / 32], blocks[kBlocks];
  cg::cluster_group cluster = cg::this_cluster();
  const unsigned tid = threadIdx.x, lane = tid % 32;
  const auto merge_pairs = [lane](const float2* pairs, unsigned count) {
    const float2 pair = lane < count ? pairs[lane] : make_float2(-INFINITY, 0.0f);
    return group_merge<32>({pair.x, pair.y});
  };
  if (lane == 0) warps[tid / 32] = make_float2(s.max, s.sum);
  __syncthreads();
  s = merge_pairs(warps, kBlock / 32);
  cluster.barrier_wait();  // all blocks have started: their shared memory may be written
  if (tid < kBlocks) *cluster.map_shared_rank(&blocks[cluster.block_rank()], tid) = make_float2(s.max, s.sum);
  cluster.sync();
  return merge_pairs(blocks, kBlocks);
}

// A row per cluster of kBlocks blocks, which take turns at it, kBlock float4 each time. The first kKept of each thread
// stay in registers, `chunks` more in shared memory. The first block takes the elements at the row's edges as well.
template <unsigned kBlocks, unsigned kBlock, unsigned kKept>
__global__ void __launch_bounds__(kBlock, kKept <= 4 ? 1536 / kBlock : 1024 / kBlock)
    row_softmax_clusters(const float* __restrict__ x, float* __restrict__ y, std::size_t cols, unsigned chunks) {
  extern __shared__ float4 shared[];  // [chunk][thread]
  cg::this_cluster().barrier_arrive();
  const unsigned tid = threadIdx.x, rank = blockIdx.x % kBlocks;
  x += blockIdx.x / kBlocks * cols;
  y += blockIdx.x / kBlocks * cols;
  const Peeled<128> part(x, cols);
  const auto units = static_cast<unsigned>(part.units);
  const auto* const from = reinterpret_cast<const float4*>(x + part.head);
  const auto place = [=](unsigned k) { return (k * kBlocks + rank) * kBlock + tid; };  // of the thread's k-th float4
  const float4 none = {-INFINITY, -INFINITY, -INFINITY, -INFINITY};

  // load
  for (unsigned k = 0; k < chunks; ++k) {
    const unsigned i = place(kKept + k);
    if (i < units) {
      __pipeline_memcpy_async(&shared[k * kBlock + tid], from + i, sizeof(float4));
    } else {
      shared[k * kBlock + tid] = none;
    }
  }
  __pipeline_commit();
  const std::size_t at = rank == 0 ? part.edge(tid, cols) : cols;
  float edge = at < cols ? x[at] : -INFINITY;
  float4 v[kKept];
#pragma unroll
  for (unsigned k = 0; k < kKept; ++k) v[k] = place(k) < units ? from[place(k)] : none;
  __pipeline_wait_prior(0);

  // reduce over the warp: the maximum, one exp per element in place, the sum; then over block and cluster
  float max = edge;
#pragma unroll
  for (unsigned k = 0; k < kKept; ++k) max = fmaxf(max, max4(v[k]));
  for (unsigned k = 0; k < chunks; ++k) max = fmaxf(max, max4(shared[k * kBlock + tid]));
  max = group_max<32>(max);
  const float shift = shift_for(max);
  float sum = edge = expf(edge - shift);
#pragma unroll
  for (unsigned k = 0; k < kKept; ++k) sum += sum4(v[k] = exp4(v[k], shift));
  for (unsigned k = 0; k < chunks; ++k) {
    sum += sum4(shared[k * kBlock + tid] = exp4(shared[k * kBlock + tid], shift));
  }
  const MaxSum s = merge_cluster<kBlocks, kBlock>({max, group_sum<32>(sum)});

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
  for (unsigned k = 0; k < kKept; ++k) store(k, v[k]);
  for (unsigned k = 0; k < chunks; ++k) store(kKept + k, shared[k * kBlock + tid]);
}

using ClusterKernel = decltype(&row_softmax_clusters<8, 256, 8>);
template <std::size_t... kShapes>
static ClusterKernel cluster_kernel(std::size_t shape, std::index_sequence<kShapes...>) {
  static const ClusterKernel kernels[] = {
      row_softmax_clusters<kClusterShapes[kShapes].blocks, kClusterShapes[kShapes].block,
                           kClusterShapes[kShapes].kept>...};
  return kernels[shape];
}

static void launch_clusters(const float* x, float* y, std::size_t rows, std::size_t cols) {
  const std::size_t shape = cluster_shape(cols);
  const ClusterShape& s = kClusterShapes[shape];
  const ClusterKernel kernel = cluster_kernel(shape, std::make_index_sequence<kClusterShapeCount>{});
  const auto all = static_cast<unsigned>(ceil_div(cols / 4, std::size_t{s.blocks} * s.block));
  const unsigned chunks = all - std::min(all, s.kept);
  const std::size_t bytes = std::size_t{chunks} * s.block * sizeof(float4);
  ClusterLaunch clusters(kernel, s.blocks, s.block, bytes);
  const std::size_t most = std::size_t{1} << 27;  // rows in a launch, so that there are fewer than 2^31 blocks
  for (std::size_t i = 0; i < rows; i += most) {
    clusters.start(std::min(most, rows - i), x + i * cols, y + i * cols, cols, chunks);
  }
}

static void launch(const float* x, float* y, std::size_t rows, std::size_t cols) {
  if (rows == 0 || cols == 0) return;
  if (row_shape(cols) < kRowShapeCount) return row_registers::launch(x, y, rows, cols);
  if (cluster_shape(cols) < kClusterShapeCount) return launch_clusters(x, y, rows, cols);
  if (row_relay::fits(cols)) return row_relay::launch(x, y, rows, cols);
  for (std::size_t i = 0; i < rows; ++i) two_passes::launch(x + i * cols, y + i * cols, cols);
}

// Of clusters: numerator exp twice, division and product. Denominator: exp, and additions in the thread, then in the
// warp, over the warps and over the blocks 5 each, the last two with an exp and a product before.
static std::size_t roundings(std::size_t cols) {
  if (row_shape(cols) < kRowShapeCount) return row_registers::roundings(cols);
  if (const std::size_t shape = cluster_shape(cols); shape < kClusterShapeCount) {
    return 10 + 4 + (2 + 1 + kClusterShapes[shape].kept + kClusterShapes[shape].shared) + 5 + 2 * (2 + 5);
  }
  return row_relay::fits(cols) ? row_relay::roundings(cols) : two_passes::roundings(cols);
}

LADDER_STEP(RowSoftmax, launch, roundings);
