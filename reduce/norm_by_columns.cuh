// For the steps of layer_norm, rms_norm and add_rms_norm that pick by shape: how a kernel is compiled for some row
// lengths, the choice among them, and the launch. Needs clusters of blocks, hence sm_90.
#pragma once
#include "norm_float4.cuh"
#include "norm_lanes_sum.cuh"

#include <cooperative_groups.h>

#include <iterator>

// Blocks per SM that the registers must leave room for: threads with fewer float4 need fewer registers.
constexpr unsigned blocks_per_sm(unsigned kept, unsigned block) {
  return (kept <= 2 ? 2048 : kept <= 4 ? 1536 : 1024) / block;
}

// The template arguments of such a kernel: kThreads threads for kRows rows at a time, in each of kCluster blocks of
// kBlock threads. Of each row a thread keeps kKept float4 in registers and kShared in shared memory.
template <unsigned kThreads_, unsigned kKept_, unsigned kShared_, unsigned kBlock_, unsigned kCluster_, unsigned kRows_>
struct Layout {
  static constexpr unsigned kThreads = kThreads_, kBlock = kBlock_, kCluster = kCluster_;
  static constexpr int kKept = kKept_, kShared = kShared_, kRows = kRows_;  // loops end there, and 0 is no unsigned end
  static constexpr unsigned kChunk = 4 * kThreads * kCluster;  // elements of a row that its threads load at once
  static constexpr unsigned kBlocksPerSM = blocks_per_sm(kKept * kRows, kBlock);
};

// A kernel for one layout: for any rows, and for rows that are all 16-byte aligned.
template <typename Kernel>
struct RowShape {
  unsigned threads, on_chip, block, cluster, rows;  // on_chip: float4 per thread and row
  std::size_t shared_bytes;
  Kernel* any;
  Kernel* aligned;
  std::size_t longest() const { return std::size_t{4} * threads * on_chip * cluster; }
};
template <typename L, typename Kernel>
RowShape<Kernel> row_shape(Kernel* any, Kernel* aligned) {
  return {L::kThreads, L::kKept + L::kShared,
          L::kBlock,   L::kCluster,
          L::kRows,    L::kRows * L::kShared * L::kBlock * sizeof(float4),
          any,         aligned};
}

// The first shape that keeps the whole row on the chip, or the last.
template <typename Kernel, std::size_t kCount>
const RowShape<Kernel>& pick(const RowShape<Kernel> (&shapes)[kCount], std::size_t cols) {
  const auto fits = [&](const RowShape<Kernel>& s) { return cols <= s.longest(); };
  return *std::find_if(std::begin(shapes), std::end(shapes) - 1, fits);
}

// Calls start(config, kernel, first row, number of rows) for all rows, in pieces of fewer than 2^31 blocks.
template <typename Kernel, typename Start>
void launch_rows(const RowShape<Kernel>& s, bool aligned, std::size_t rows, const Start& start) {
  Kernel* const kernel = aligned ? s.aligned : s.any;
  cudaLaunchAttribute cluster = {};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim.x = s.cluster;
  cluster.val.clusterDim.y = cluster.val.clusterDim.z = 1;
  cudaLaunchConfig_t config = {};
  config.blockDim = s.block;
  config.dynamicSmemBytes = s.shared_bytes;
  config.attrs = &cluster;
  config.numAttrs = s.cluster > 1;
  // more than 48 KB of dynamic shared memory and clusters of more than 8 blocks must be asked for
  const auto bytes = static_cast<int>(s.shared_bytes);
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  if (s.cluster > 8) CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
  const std::size_t rows_per_launch = std::size_t{1} << 26;  // 16 blocks each stay below 2^31
  for (std::size_t first = 0; first < rows; first += rows_per_launch) {
    const std::size_t count = std::min(rows_per_launch, rows - first);
    config.gridDim = static_cast<unsigned>(ceil_div(count, std::size_t{s.block / s.threads * s.rows}) * s.cluster);
    CUDA_CHECK(start(config, kernel, first, count));
  }
}
