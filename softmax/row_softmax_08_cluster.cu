// A block for each row: 64 rows keep 64 of 132 multiprocessors busy, and a row of 2^20 fits into no shared memory.
// Idea: a thread-block cluster for each row. The 8 blocks of a cluster run at the same time on neighbouring
// multiprocessors, have a barrier of their own, and can write into each other's shared memory. Each keeps an eighth of
// the row, merges its own pair, and sends it to the others: 8 pairs in every block, no second kernel, nothing through
// DRAM. Two rules: no access to another block's shared memory before that block has started (the first barrier, which
// is split into arrive and wait, so that loading hides it), and none after it has ended (the second one is behind all
// writes, and from there on everybody reads only its own).
// Expect: nearly a copy's speed for rows that 8 blocks can hold, 460,000 elements; far above step 07 for long rows.
// Next question: which of these kernels do you ship? (None alone: step 09.)
// needs: sm_90
#include "row_softmax.cuh"
#include "float4_row.cuh"

#include <cooperative_groups.h>

namespace cg = cooperative_groups;

constexpr int kBlock = 512;
constexpr unsigned kCluster = 8;            // blocks per row; more are not portable
constexpr std::size_t kChunk = 4 * kBlock;  // elements that a block loads at once, four for each thread

// Merged over a cluster of `count` blocks, at most 32, in every thread. All threads of the cluster must call it, once,
// after barrier_arrive().
template <unsigned count>
__device__ static MaxSum cluster_merge(MaxSum v) {
  __shared__ MaxSum blocks[count];
  cg::cluster_group cluster = cg::this_cluster();
  const unsigned lane = threadIdx.x % 32;
  v = block_merge_once<kBlock / 32>(v);
  cluster.barrier_wait();  // all blocks have started
  if (threadIdx.x < count) *cluster.map_shared_rank(&blocks[cluster.block_rank()], threadIdx.x) = v;
  cluster.sync();
  return warp_merge(lane < count ? blocks[lane] : MaxSum{-INFINITY, 0.0f});
}

// The first `chunks` chunks of each block stay in its shared memory. The blocks take the chunks of the row in turns.
template <bool vector>
__global__ void __cluster_dims__(kCluster)
    row_softmax_cluster(const float* __restrict__ x, float* __restrict__ y, std::size_t cols, unsigned chunks) {
  extern __shared__ float4 kept[];  // [chunk][thread]
  cg::cluster_group cluster = cg::this_cluster();
  cluster.barrier_arrive();
  const unsigned tid = threadIdx.x;
  const std::size_t mine = cluster.block_rank() * kChunk + (vector ? 4 * tid : tid);
  x += blockIdx.x / kCluster * cols;
  y += blockIdx.x / kCluster * cols;

#pragma unroll 4
  for (unsigned k = 0; k < chunks; ++k) {
    kept[k * kBlock + tid] = load4<vector>(x, k * (kCluster * kChunk) + mine, cols, kBlock);
  }
  float max = -INFINITY;
  for (unsigned k = 0; k < chunks; ++k) max = fmaxf(max, max4(kept[k * kBlock + tid]));
  MaxSum s = {max, 0.0f};
  for (unsigned k = 0; k < chunks; ++k) {
    s.sum += sum4(exp4(kept[k * kBlock + tid], shift_for(max)));
  }
  const std::size_t rest = chunks * (kCluster * kChunk) + cluster.block_rank() * kBlock + tid;
  for (std::size_t j = rest; j < cols; j += kCluster * kBlock) s = merge(s, {x[j], 1.0f});
  s = cluster_merge<kCluster>(s);

  const float inverse = 1.0f / s.sum;
  for (unsigned k = 0; k < chunks; ++k) {
    store4<vector, kStreaming>(y, k * (kCluster * kChunk) + mine, cols, kBlock,
                               exp4(kept[k * kBlock + tid], s.max, inverse));
  }
  for (std::size_t j = rest; j < cols; j += kCluster * kBlock) y[j] = expf(x[j] - s.max) * inverse;
}

static std::size_t chunks_of(std::size_t cols) {
  const int bytes =
      device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin) - (1 << 10);  // 1 KB for `warps` and `blocks`
  const std::size_t most = bytes / (kBlock * sizeof(float4));
  return std::min(ceil_div(cols, (kCluster * kChunk)), most);
}

static void launch(const float* x, float* y, std::size_t rows, std::size_t cols) {
  if (rows == 0 || cols == 0) return;
  const auto chunks = static_cast<unsigned>(chunks_of(cols));
  const auto kernel =
      aligned_for<float4>(x, y) && cols % 4 == 0 ? row_softmax_cluster<true> : row_softmax_cluster<false>;
  const auto bytes = static_cast<int>(chunks * kBlock * sizeof(float4));
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  constexpr std::size_t most = std::size_t{1} << 27;  // rows in a launch, so that there are fewer than 2^31 blocks
  for (std::size_t i = 0; i < rows; i += most) {
    const auto grid = static_cast<unsigned>(std::min(most, rows - i) * kCluster);
    kernel<<<grid, kBlock, bytes>>>(x + i * cols, y + i * cols, cols, chunks);
    CUDA_CHECK(cudaGetLastError());
  }
}

// exp, inverse and product above; below, exp and additions of what is kept, then exp, product and addition for each
// merge: those of the rest, then 5, 5, and 5.
static std::size_t roundings(std::size_t cols) {
  const std::size_t chunks = chunks_of(cols), rest = cols - std::min(cols, chunks * (kCluster * kChunk));
  return 6 + 4 + 2 + chunks + 6 * (ceil_div(rest, kCluster * kBlock) + 15);
}

LADDER_STEP(RowSoftmax, launch, roundings);
