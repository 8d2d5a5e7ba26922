// Problem:  steps 04 to 08 are each the fastest at other row lengths.
// Idea:     one kernel with the threads and blocks per row and the float4 per thread as parameters. A rule picks them
//           by row length, so that the whole row is on the chip and all its loads are in flight.
// Expect:   0.95 to 1.0 of a copy up to 131072; 0.6 to 0.8 at 64 x 2^20: 7 clusters of 16 fit, 112 of 132 SMs, and
//           64 rows are ten rounds of 7.
// Measured: 42x step 08, 1.67x cuDNN at 32768x1024 (H200); 32x, 1.29x (H100).
// Next:     and a matrix of one row?
// needs: sm_90
#include "row_softmax.cuh"
#include "../float4_row.cuh"

#include <cooperative_groups.h>
#include <cuda_pipeline.h>

#include <iterator>

namespace cg = cooperative_groups;

constexpr unsigned kMostShared = 13;  // float4 per thread in shared memory, with 1024 threads per SM

// Merges `count` pairs (max, sum), at most 32, returned to every lane. float2, whose alignment makes a pair one access.
__device__ static MaxSum merge_pairs(const float2* pairs, unsigned count) {
  const unsigned lane = threadIdx.x % 32;
  const float2 pair = lane < count ? pairs[lane] : make_float2(-INFINITY, 0.0f);
  return group_merge<32>({pair.x, pair.y});
}

// As load4 and store4 of float4_row.cuh. But the address comes before the comparison, so that the compiler need not
// compute it under a condition, and the store multiplies.
template <bool kAligned, bool kEvict, unsigned kStride>
__device__ static float4 load_chunk(const float* x, std::size_t j, std::size_t end) {
  const auto at = [&](std::size_t i) { return i < end ? x[i] : -INFINITY; };
  if constexpr (!kAligned) return {at(j), at(j + kStride), at(j + 2 * kStride), at(j + 3 * kStride)};
  const float4* p = reinterpret_cast<const float4*>(x + j);
  const float none = -INFINITY;
  return j < end ? (kEvict ? __ldcs(p) : *p) : float4{none, none, none, none};
}
template <bool kAligned, unsigned kStride>
__device__ static void store_chunk(float* y, std::size_t j, std::size_t end, float4 v, float factor) {
  v = {v.x * factor, v.y * factor, v.z * factor, v.w * factor};
  if constexpr (kAligned) {
    if (j < end) *reinterpret_cast<float4*>(y + j) = v;
  } else {
    const float values[] = {v.x, v.y, v.z, v.w};
    for (unsigned c = 0; c < 4; ++c) {
      if (j + c * kStride < end) y[j + c * kStride] = values[c];
    }
  }
}

// Blocks per SM that the registers must leave room for: threads with fewer float4 need fewer registers.
constexpr unsigned blocks_per_sm(unsigned kept, unsigned block) {
  return (kept <= 2 ? 2048 : kept <= 4 ? 1536 : 1024) / block;
}

// kThreads threads for a row in each of kCluster blocks of kBlock threads: kBlock / kThreads rows per block, or one
// row per cluster. Each thread keeps kKept float4 in registers and `chunks` in shared memory. kAligned: see
// float4_row.cuh.
template <unsigned kThreads, unsigned kKept, unsigned kBlock, unsigned kCluster, bool kAligned>
__global__ void __launch_bounds__(kBlock, blocks_per_sm(kKept, kBlock))
    row_softmax_by_shape(const float* __restrict__ x, float* __restrict__ y, std::size_t rows, std::size_t cols,
                         unsigned chunks) {
  extern __shared__ float4 shared[];  // [chunk][thread]
  constexpr unsigned stride = 4 * kThreads * kCluster;
  const unsigned tid = threadIdx.x, t = tid % kThreads, rank = blockIdx.x % kCluster;
  const std::size_t row = std::size_t{blockIdx.x / kCluster} * (kBlock / kThreads) + tid / kThreads;
  const std::size_t end = row < rows ? cols : 0, first = rank * 4 * kThreads + (kAligned ? 4 * t : t);
  x += row * cols;
  y += row * cols;

  // load: the first kKept chunks to registers, `chunks` more to shared memory by cp.async; the remainder is read again
  if constexpr (kCluster > 1) {
    cg::this_cluster().barrier_arrive();
    for (unsigned k = 0; k < chunks; ++k) {
      const std::size_t j = (kKept + k) * stride + first;
      shared[k * kBlock + tid] = float4{-INFINITY, -INFINITY, -INFINITY, -INFINITY};
      if (j < end) __pipeline_memcpy_async(&shared[k * kBlock + tid], x + j, sizeof(float4));
    }
    __pipeline_commit();
  }
  float4 v[kKept];
#pragma unroll
  for (unsigned k = 0; k < kKept; ++k) v[k] = load_chunk<kAligned, kKept == 1, kThreads>(x, k * stride + first, end);
  const std::size_t remainder = std::size_t{kKept + chunks} * stride + rank * kThreads + t;
  MaxSum remainder_pair = {-INFINITY, 0.0f};
  if constexpr (kCluster > 1) {
    for (std::size_t j = remainder; j < end; j += kCluster * kThreads) {
      remainder_pair = merge(remainder_pair, {x[j], 1.0f});
    }
    __pipeline_wait_prior(0);
  }

  // reduce over the warp, or the row's part of it: the maximum, one exp per element in place, the sum
  float warp_max = remainder_pair.max;
#pragma unroll
  for (unsigned k = 0; k < kKept; ++k) warp_max = fmaxf(warp_max, max4(v[k]));
  for (unsigned k = 0; kCluster > 1 && k < chunks; ++k) warp_max = fmaxf(warp_max, max4(shared[k * kBlock + tid]));
  warp_max = group_max<(kThreads < 32 ? kThreads : 32)>(warp_max);
  const float shift = shift_for(warp_max);
  MaxSum s = {warp_max, remainder_pair.sum * expf(remainder_pair.max - shift)};
#pragma unroll
  for (unsigned k = 0; k < kKept; ++k) s.sum += sum4(v[k] = exp4(v[k], shift));
  for (unsigned k = 0; kCluster > 1 && k < chunks; ++k) {
    s.sum += sum4(shared[k * kBlock + tid] = exp4(shared[k * kBlock + tid], shift));
  }
  s.sum = group_sum<(kThreads < 32 ? kThreads : 32)>(s.sum);

  // merge the warps of the row, then the blocks of the cluster
  if constexpr (kThreads > 32) {
    __shared__ float2 warps[kBlock / 32];
    if (tid % 32 == 0) warps[tid / 32] = make_float2(s.max, s.sum);
    __syncthreads();
    s = merge_pairs(warps + tid / kThreads * (kThreads / 32), kThreads / 32);
  }
  if constexpr (kCluster > 1) {
    __shared__ float2 blocks[kCluster];
    cg::cluster_group cluster = cg::this_cluster();
    cluster.barrier_wait();  // all blocks have started: their shared memory may be written
    if (tid < kCluster) *cluster.map_shared_rank(&blocks[rank], tid) = make_float2(s.max, s.sum);
    cluster.sync();
    s = merge_pairs(blocks, kCluster);
  }

  // store
  const float factor = expf(warp_max - s.max) / s.sum;
#pragma unroll
  for (unsigned k = 0; k < kKept; ++k) store_chunk<kAligned, kThreads>(y, k * stride + first, end, v[k], factor);
  for (unsigned k = 0; kCluster > 1 && k < chunks; ++k) {
    store_chunk<kAligned, kThreads>(y, (kKept + k) * stride + first, end, shared[k * kBlock + tid], factor);
  }
  if constexpr (kCluster > 1) {
    for (std::size_t j = remainder; j < end; j += kCluster * kThreads) y[j] = expf(x[j] - s.max) / s.sum;
  }
}

struct Shape {
  unsigned threads, kept, block, cluster;
  decltype(&row_softmax_by_shape<4, 1, 256, 1, false>) kernel[2];  // any rows, aligned rows
  std::size_t in_registers() const { return std::size_t{4} * threads * kept * cluster; }
  std::size_t on_chip(bool aligned) const {
    return std::size_t{4} * threads * (kept + (cluster > 1 && aligned ? kMostShared : 0)) * cluster;
  }
};

template <unsigned kThreads, unsigned kKept, unsigned kBlock, unsigned kCluster>
static Shape shape() {
  return {kThreads,
          kKept,
          kBlock,
          kCluster,
          {row_softmax_by_shape<kThreads, kKept, kBlock, kCluster, false>,
           row_softmax_by_shape<kThreads, kKept, kBlock, kCluster, true>}};
}

// The first shape that keeps the whole row on the chip, or the last. Four small blocks on an SM overlap their loads,
// waits and stores better than one large block, so longer rows get more blocks before they get more threads.
static const Shape& pick(std::size_t cols, bool aligned) {
  // threads per row and block, float4 per thread, threads per block, blocks per cluster
  static const Shape shapes[] = {shape<4, 1, 256, 1>(),   shape<16, 1, 256, 1>(),    shape<32, 1, 256, 1>(),
                                 shape<32, 4, 256, 1>(),  shape<64, 4, 512, 1>(),    shape<512, 2, 1024, 1>(),
                                 shape<512, 8, 512, 1>(), shape<1024, 8, 1024, 1>(), shape<256, 8, 256, 8>(),
                                 shape<512, 8, 512, 8>(), shape<1024, 8, 1024, 8>(), shape<1024, 8, 1024, 16>()};
  const auto fits = [&](const Shape& s) { return cols <= s.on_chip(aligned); };
  return *std::find_if(std::begin(shapes), std::end(shapes) - 1, fits);
}

static void launch(const float* x, float* y, std::size_t rows, std::size_t cols) {
  if (rows == 0 || cols == 0) return;
  const bool aligned = aligned_for<float4>(x, y) && cols % 4 == 0;
  const Shape& s = pick(cols, aligned);
  const std::size_t left = cols - std::min(cols, s.in_registers());
  const std::size_t chunks_left = ceil_div(left, std::size_t{4} * s.threads * s.cluster);
  const auto chunks =
      static_cast<unsigned>(s.cluster > 1 && aligned ? std::min<std::size_t>(chunks_left, kMostShared) : 0);

  cudaLaunchAttribute cluster = {};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim.x = s.cluster;
  cluster.val.clusterDim.y = cluster.val.clusterDim.z = 1;
  cudaLaunchConfig_t config = {};
  config.blockDim = s.block;
  config.dynamicSmemBytes = chunks * s.block * sizeof(float4);
  config.attrs = &cluster;
  config.numAttrs = s.cluster > 1;
  // more than 48 KB of dynamic shared memory and clusters of more than 8 blocks must be asked for
  const auto kernel = s.kernel[aligned];
  const auto bytes = static_cast<int>(config.dynamicSmemBytes);
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  if (s.cluster > 8) CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
  const std::size_t rows_per_launch = std::size_t{1} << 26;  // 16 blocks each stay below 2^31
  for (std::size_t first = 0; first < rows; first += rows_per_launch) {
    const std::size_t count = std::min(rows_per_launch, rows - first);
    config.gridDim = static_cast<unsigned>(ceil_div(count, s.block / s.threads) * s.cluster);
    CUDA_CHECK(cudaLaunchKernelEx(&config, kernel, x + first * cols, y + first * cols, count, cols, chunks));
  }
}

// Numerator: exp twice, division and product. Denominator: exp, and additions in the thread, then in the warp, over the
// warps and over the blocks 5 each, with an exp and a product before; for what is read again exp, product and addition
// each.
static std::size_t roundings(std::size_t cols) {
  const std::size_t remainder = cols - std::min<std::size_t>(cols, 16 * 4096 * 8);  // at most
  return 10 + 4 + (2 + 8 + kMostShared) + 3 * 5 + 3 * 5 + 6 * ceil_div(remainder, 16 * 1024);
}

LADDER_STEP(RowSoftmax, launch, roundings);
