// Steps 04 to 08 each win on other shapes. Idea: one kernel with T threads for a row in each of C blocks, and V float4
// of the row in each thread's registers; what registers cannot hold goes to shared memory, by asynchronous copies that
// pass no register. A rule picks by the row's length, so that all of a row is on the chip and all its loads are in
// flight:
//   up to 128 elements 4 to 32 threads with one float4; up to 32768 up to 1024 threads, with up to 8; longer, clusters
//   of 8 blocks, the fewest threads that will do, as four small blocks on a multiprocessor overlap better than one
//   large; longest, 16 blocks, which must be asked for. What is longer still, 1.3 million elements, is read again.
//   Rows that are not 16-byte aligned use registers alone.
// The maximum is one over the warp first; exp is taken once, and each warp multiplies by exp(its max - max) / sum.
// All exps are expf: these kernels wait for memory, and __expf would be less accurate and no faster.
// Expect: a copy's speed on all shapes but the longest rows, for 16 blocks at a time do not fill all multiprocessors.
// Next question: and a matrix of one row? (The kernel softmax: all multiprocessors for one vector.)
// needs: sm_90
#include "row_softmax.cuh"
#include "float4_row.cuh"

#include <cooperative_groups.h>
#include <cuda_pipeline.h>

#include <iterator>

namespace cg = cooperative_groups;

constexpr unsigned kMostShared = 13;  // float4 of a thread in shared memory, with 1024 threads per multiprocessor

// Merges the pairs (max, sum) of which lane i < count holds number i, in every lane. float2, as its alignment makes a
// pair one access.
__device__ static MaxSum merge_pairs(const float2* pairs, unsigned count) {
  const unsigned lane = threadIdx.x % 32;
  const float2 pair = lane < count ? pairs[lane] : make_float2(-INFINITY, 0.0f);
  return group_merge<32>({pair.x, pair.y});
}

// As load4 and store4, but the address stands before the comparison, so that the compiler need not compute it under a
// condition, and the store multiplies.
template <bool vector, bool streaming, unsigned apart>
__device__ static float4 load_chunk(const float* x, std::size_t j, std::size_t end) {
  const auto at = [&](std::size_t i) { return i < end ? x[i] : -INFINITY; };
  if constexpr (!vector) return {at(j), at(j + apart), at(j + 2 * apart), at(j + 3 * apart)};
  const float4* p = reinterpret_cast<const float4*>(x + j);
  const float none = -INFINITY;
  return j < end ? (streaming ? __ldcs(p) : *p) : float4{none, none, none, none};
}
template <bool vector, unsigned apart>
__device__ static void store_chunk(float* y, std::size_t j, std::size_t end, float4 v, float factor) {
  v = {v.x * factor, v.y * factor, v.z * factor, v.w * factor};
  if constexpr (vector) {
    if (j < end) *reinterpret_cast<float4*>(y + j) = v;
  } else {
    const float values[] = {v.x, v.y, v.z, v.w};
    for (unsigned c = 0; c < 4; ++c) {
      if (j + c * apart < end) y[j + c * apart] = values[c];
    }
  }
}

// Blocks of B threads, B / T rows in each; if C > 1 one, B = T. `chunks` float4 of each thread are in shared memory.
template <unsigned T, unsigned V, unsigned B, unsigned C, bool vector>
__global__ void __launch_bounds__(B, (V <= 2   ? 2048
                                      : V <= 4 ? 1536
                                               : 1024) /
                                         B) row_softmax_by_shape(const float* __restrict__ x, float* __restrict__ y,
                                                                 std::size_t rows, std::size_t cols, unsigned chunks) {
  extern __shared__ float4 shared[];  // [chunk][thread]
  constexpr unsigned stride = 4 * T * C;
  const unsigned tid = threadIdx.x, t = tid % T, rank = blockIdx.x % C;
  const std::size_t row = static_cast<std::size_t>(blockIdx.x / C) * (B / T) + tid / T;
  const std::size_t end = row < rows ? cols : 0, mine = rank * 4 * T + (vector ? 4 * t : t);
  x += row * cols;
  y += row * cols;

  // Load. Chunks V to V + chunks - 1 go to shared memory; what is not on the chip begins at `rest`.
  if constexpr (C > 1) {
    cg::this_cluster().barrier_arrive();
    for (unsigned k = 0; k < chunks; ++k) {
      const std::size_t j = (V + k) * stride + mine;
      shared[k * B + tid] = float4{-INFINITY, -INFINITY, -INFINITY, -INFINITY};
      if (j < end) __pipeline_memcpy_async(&shared[k * B + tid], x + j, sizeof(float4));
    }
    __pipeline_commit();
  }
  float4 v[V];
#pragma unroll
  for (unsigned k = 0; k < V; ++k) v[k] = load_chunk<vector, V == 1, T>(x, k * stride + mine, end);
  const std::size_t rest = std::size_t{V + chunks} * stride + rank * T + t;
  MaxSum rest_pair = {-INFINITY, 0.0f};
  if constexpr (C > 1) {
    for (std::size_t j = rest; j < end; j += C * T) rest_pair = merge(rest_pair, {x[j], 1.0f});
    __pipeline_wait_prior(0);
  }

  // The maximum over the warp, or the row's part of it; exp, in place; the sum.
  float warp_max = rest_pair.max;
#pragma unroll
  for (unsigned k = 0; k < V; ++k) warp_max = fmaxf(warp_max, max4(v[k]));
  for (unsigned k = 0; C > 1 && k < chunks; ++k) warp_max = fmaxf(warp_max, max4(shared[k * B + tid]));
  warp_max = group_max<(T < 32 ? T : 32)>(warp_max);
  const float shift = shift_for(warp_max);
  MaxSum s = {warp_max, rest_pair.sum * expf(rest_pair.max - shift)};
#pragma unroll
  for (unsigned k = 0; k < V; ++k) s.sum += sum4(v[k] = exp4(v[k], shift));
  for (unsigned k = 0; C > 1 && k < chunks; ++k) s.sum += sum4(shared[k * B + tid] = exp4(shared[k * B + tid], shift));
  s.sum = group_sum<(T < 32 ? T : 32)>(s.sum);

  // Over the warps of the row, then over the blocks.
  if constexpr (T > 32) {
    __shared__ float2 warps[B / 32];
    if (tid % 32 == 0) warps[tid / 32] = make_float2(s.max, s.sum);
    __syncthreads();
    s = merge_pairs(warps + tid / T * (T / 32), T / 32);
  }
  if constexpr (C > 1) {
    __shared__ float2 blocks[C];
    cg::cluster_group cluster = cg::this_cluster();
    cluster.barrier_wait();  // all blocks have started
    if (tid < C) *cluster.map_shared_rank(&blocks[rank], tid) = make_float2(s.max, s.sum);
    cluster.sync();
    s = merge_pairs(blocks, C);
  }

  const float factor = expf(warp_max - s.max) / s.sum;
#pragma unroll
  for (unsigned k = 0; k < V; ++k) store_chunk<vector, T>(y, k * stride + mine, end, v[k], factor);
  for (unsigned k = 0; C > 1 && k < chunks; ++k) {
    store_chunk<vector, T>(y, (V + k) * stride + mine, end, shared[k * B + tid], factor);
  }
  if constexpr (C > 1) {
    for (std::size_t j = rest; j < end; j += C * T) y[j] = expf(x[j] - s.max) / s.sum;
  }
}

struct Shape {
  unsigned T, V, B, C;
  decltype(&row_softmax_by_shape<4, 1, 256, 1, false>) kernel[2];  // any rows, aligned rows
  std::size_t in_registers() const { return std::size_t{4} * T * V * C; }
  std::size_t on_chip(bool vector) const { return std::size_t{4} * T * (V + (C > 1 && vector ? kMostShared : 0)) * C; }
};

template <unsigned T, unsigned V, unsigned B, unsigned C>
static Shape shape() {
  return {T, V, B, C, {row_softmax_by_shape<T, V, B, C, false>, row_softmax_by_shape<T, V, B, C, true>}};
}

// The first shape that keeps the whole row on the chip, or the last.
static const Shape& pick(std::size_t cols, bool vector) {
  static const Shape shapes[] = {shape<4, 1, 256, 1>(),   shape<16, 1, 256, 1>(),    shape<32, 1, 256, 1>(),
                                 shape<32, 4, 256, 1>(),  shape<64, 4, 512, 1>(),    shape<512, 2, 1024, 1>(),
                                 shape<512, 8, 512, 1>(), shape<1024, 8, 1024, 1>(), shape<256, 8, 256, 8>(),
                                 shape<512, 8, 512, 8>(), shape<1024, 8, 1024, 8>(), shape<1024, 8, 1024, 16>()};
  const auto fits = [&](const Shape& s) { return cols <= s.on_chip(vector); };
  return *std::find_if(std::begin(shapes), std::end(shapes) - 1, fits);
}

static void launch(const float* x, float* y, std::size_t rows, std::size_t cols) {
  if (rows == 0 || cols == 0) return;
  const bool vector = aligned_for<float4>(x, y) && cols % 4 == 0;
  const Shape& s = pick(cols, vector);
  const std::size_t left = cols - std::min(cols, s.in_registers());
  const auto chunks = static_cast<unsigned>(
      s.C > 1 && vector ? std::min<std::size_t>(ceil_div(left, std::size_t{4} * s.T * s.C), kMostShared) : 0);

  cudaLaunchAttribute cluster = {};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim.x = s.C;
  cluster.val.clusterDim.y = cluster.val.clusterDim.z = 1;
  cudaLaunchConfig_t config = {};
  config.blockDim = s.B;
  config.dynamicSmemBytes = chunks * s.B * sizeof(float4);
  config.attrs = &cluster;
  config.numAttrs = s.C > 1;
  const auto kernel = s.kernel[vector];
  const auto bytes = static_cast<int>(config.dynamicSmemBytes);
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  if (s.C > 8) CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
  const std::size_t rows_per_launch = std::size_t{1} << 26;  // 16 blocks each stay below 2^31
  for (std::size_t first = 0; first < rows; first += rows_per_launch) {
    const std::size_t count = std::min(rows_per_launch, rows - first);
    config.gridDim = static_cast<unsigned>(ceil_div(count, s.B / s.T) * s.C);
    CUDA_CHECK(cudaLaunchKernelEx(&config, kernel, x + first * cols, y + first * cols, count, cols, chunks));
  }
}

// exp twice, division and product above; below, exp, and additions in the thread, then in the warp, over the warps and
// over the blocks 5 each, with an exp and a product before; for what is read again exp, product and addition each.
static std::size_t roundings(std::size_t cols) {
  const std::size_t rest = cols - std::min<std::size_t>(cols, 16 * 4096 * 8);  // at most
  return 10 + 4 + (2 + 8 + kMostShared) + 3 * 5 + 3 * 5 + 6 * ceil_div(rest, 16 * 1024);
}

LADDER_STEP(RowSoftmax, launch, roundings);
