// Problem:  step 07 holds 57,000 elements. The rest of a longer row is read twice, by one block.
// Idea:     a cluster of 8 blocks shares a row. Each holds an eighth and writes its pair (max, sum) into the shared
//           memory of all 8: no second kernel, no detour through global memory.
// Expect:   2 to 4x step 07, 0.8 to 1.0 of a copy at 1024x131072, of which step 07 holds 44 %. Far less on short rows.
// Measured: 2.74x step 07, 2.49x cuDNN at 1024x131072 (H200); 2.45x, 2.65x (H100).
// Next:     64 rows of 2^20: which of them stay on the chip?
// needs: sm_90
#include "row_softmax.cuh"
#include "../float4_row.cuh"

#include <cooperative_groups.h>

namespace cg = cooperative_groups;

constexpr int kBlock = 512;
constexpr unsigned kCluster = 8;            // blocks per row: the largest portable cluster
constexpr std::size_t kChunk = 4 * kBlock;  // elements that a block loads at once, four for each thread

// The blocks take every eighth chunk of the row. Each keeps its first `chunks` chunks in shared memory.
template <bool kAligned>
__global__ void __cluster_dims__(kCluster)
    row_softmax_cluster(const float* __restrict__ x, float* __restrict__ y, std::size_t cols, unsigned chunks) {
  extern __shared__ float4 row[];  // [chunk][thread]
  __shared__ MaxSum blocks[kCluster];
  cg::cluster_group cluster = cg::this_cluster();
  cluster.barrier_arrive();
  const unsigned tid = threadIdx.x, lane = tid % 32, rank = cluster.block_rank();
  const std::size_t first = rank * kChunk + (kAligned ? 4 * tid : tid);
  x += blockIdx.x / kCluster * cols;
  y += blockIdx.x / kCluster * cols;

  // load
#pragma unroll 4
  for (unsigned k = 0; k < chunks; ++k) {
    row[k * kBlock + tid] = load4<kAligned>(x, k * (kCluster * kChunk) + first, cols, kBlock);
  }

  // reduce: the maximum of the held elements, then one exp for each; the remainder by the online rule
  float max = -INFINITY;
  for (unsigned k = 0; k < chunks; ++k) max = fmaxf(max, max4(row[k * kBlock + tid]));
  MaxSum s = {max, 0.0f};
  for (unsigned k = 0; k < chunks; ++k) {
    s.sum += sum4(exp4(row[k * kBlock + tid], shift_for(max)));
  }
  const std::size_t remainder = chunks * (kCluster * kChunk) + rank * kBlock + tid;
  for (std::size_t j = remainder; j < cols; j += kCluster * kBlock) s = merge(s, {x[j], 1.0f});

  // merge the block, then the cluster: thread i writes the block's pair into block i
  s = block_merge(s);
  cluster.barrier_wait();  // all blocks have started: their shared memory may be written
  if (tid < kCluster) *cluster.map_shared_rank(&blocks[rank], tid) = s;
  cluster.sync();  // all pairs have arrived; from here on a block reads only its own shared memory, and may exit
  s = warp_merge(lane < kCluster ? blocks[lane] : MaxSum{-INFINITY, 0.0f});

  // store
  const float inverse = 1.0f / s.sum;
  for (unsigned k = 0; k < chunks; ++k) {
    store4<kAligned, kEvictFirst>(y, k * (kCluster * kChunk) + first, cols, kBlock,
                                  exp4(row[k * kBlock + tid], s.max, inverse));
  }
  for (std::size_t j = remainder; j < cols; j += kCluster * kBlock) y[j] = expf(x[j] - s.max) * inverse;
}

// Returns how many chunks of a row fit in each block's shared memory.
static std::size_t chunks_of(std::size_t cols) {
  // 227 KB is the largest limit of today's GPUs; 1 KB is for `blocks` and block_merge
  const int bytes = std::min(device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin), 227 << 10) - (1 << 10);
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
  constexpr std::size_t most = std::size_t{1} << 27;  // rows per launch, so that there are fewer than 2^31 blocks
  for (std::size_t i = 0; i < rows; i += most) {
    const auto grid = static_cast<unsigned>(std::min(most, rows - i) * kCluster);
    kernel<<<grid, kBlock, bytes>>>(x + i * cols, y + i * cols, cols, chunks);
    CUDA_CHECK(cudaGetLastError());
  }
}

// Numerator: exp, inverse, product. Denominator: exp and additions of what is held; 6 per merge; 20 and 10 above.
static std::size_t roundings(std::size_t cols) {
  const std::size_t chunks = chunks_of(cols), remainder = cols - std::min(cols, chunks * (kCluster * kChunk));
  return 6 + 4 + 2 + chunks + 6 * ceil_div(remainder, kCluster * kBlock) + 30;
}

LADDER_STEP(RowSoftmax, launch, roundings);
