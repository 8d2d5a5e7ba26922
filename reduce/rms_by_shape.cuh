// The kernel of rms_norm 03 and add_rms_norm 03, which differ in where a row comes from. Needs clusters, hence sm_90.
#pragma once
#include "norm_by_columns.cuh"

// y = z / sqrt(mean of z^2 + epsilon) * gamma for each row z: x, or if kAdd the new residual, x + residual, which is
// stored. residual is not read else. L: see norm_by_columns.cuh; kAligned: see norm_float4.cuh.
template <typename L, bool kAdd, bool kAligned>
__global__ void __launch_bounds__(L::kBlock, L::kBlocksPerSM)
    rms_norm_by_shape(const float* __restrict__ x, const float* __restrict__ gamma, float* __restrict__ residual,
                      float* __restrict__ y, std::size_t rows, unsigned cols, float epsilon) {
  extern __shared__ float4 shared[];  // [row][chunk][thread]
  namespace cg = cooperative_groups;
  constexpr unsigned kThreads = L::kThreads, kBlock = L::kBlock, kCluster = L::kCluster, kChunk = L::kChunk;
  constexpr int kKept = L::kKept, kShared = L::kShared, kRows = L::kRows;
  const unsigned tid = threadIdx.x, t = tid % kThreads, rank = blockIdx.x % kCluster, lane = tid % 32;
  const std::size_t row = (std::size_t{blockIdx.x / kCluster} * (kBlock / kThreads) + tid / kThreads) * kRows;
  const unsigned first = rank * 4 * kThreads + (kAligned ? 4 * t : t);
  const unsigned remainder = (kKept + kShared) * kChunk + rank * kThreads + t;  // what is read again; of few shapes
  x += row * cols;
  y += row * cols;
  if (kAdd) residual += row * cols;
  const auto place = [&](unsigned r, unsigned k) { return (r * kShared + k) * kBlock + tid; };
  const auto for_remainder = [&](unsigned r, const auto& body) {
    if (kCluster > 1 && row + r < rows) {
      for (unsigned c = remainder; c < cols; c += kCluster * kThreads) body(r * std::size_t{cols} + c, c);
    }
  };
  const auto load = [&](unsigned r, unsigned k) {
    const std::size_t skip = r * std::size_t{cols};
    const unsigned c = k * kChunk + first, end = row + r < rows ? cols : 0;
    float4 z = load4<kAligned, kThreads, true>(x + skip, c, end);
    if constexpr (kAdd) {
      z = add4(z, load4<kAligned, kThreads, true>(residual + skip, c, end));
      store4<kAligned, kThreads>(residual + skip, c, end, z);
    }
    return z;
  };
  if constexpr (kCluster > 1) cg::this_cluster().barrier_arrive();

  // load, add, store the sum
  float4 v[kRows][kKept];
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
#pragma unroll
    for (int k = 0; k < kShared; ++k) shared[place(r, k)] = load(r, kKept + k);
#pragma unroll
    for (int k = 0; k < kKept; ++k) v[r][k] = load(r, k);
  }

  // squares: of the warp or its part, of the block, of the cluster
  float squares[kRows];
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    squares[r] = 0.0f;
#pragma unroll
    for (int k = 0; k < kKept; ++k) squares[r] += dot4(v[r][k], v[r][k]);
#pragma unroll
    for (int k = 0; k < kShared; ++k) squares[r] += dot4(shared[place(r, k)], shared[place(r, k)]);
    for_remainder(r, [&](std::size_t i, unsigned) {
      const float z = kAdd ? x[i] + residual[i] : x[i];
      if (kAdd) residual[i] = z;
      squares[r] += z * z;
    });
    squares[r] = lanes_sum<(kThreads < 32 ? kThreads : 32)>(squares[r]);
  }
  if constexpr (kThreads > 32) {
    __shared__ float warps[kRows][kBlock / 32];
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      if (lane == 0) warps[r][tid / 32] = squares[r];
    }
    __syncthreads();
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      squares[r] = lanes_sum<32>(lane < kThreads / 32 ? warps[r][tid / kThreads * (kThreads / 32) + lane] : 0.0f);
    }
  }
  if constexpr (kCluster > 1) {
    __shared__ float blocks[kRows][kCluster];
    cg::cluster_group cluster = cg::this_cluster();
    cluster.barrier_wait();  // all blocks have started: their shared memory may be written
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      if (tid < kCluster) *cluster.map_shared_rank(&blocks[r][rank], tid) = squares[r];
    }
    cluster.sync();
#pragma unroll
    for (int r = 0; r < kRows; ++r) squares[r] = lanes_sum<32>(lane < kCluster ? blocks[r][lane] : 0.0f);
  }

  // scale, store
  float factor[kRows];
#pragma unroll
  for (int r = 0; r < kRows; ++r) factor[r] = rsqrtf(squares[r] / static_cast<float>(cols) + epsilon);
#pragma unroll
  for (int k = 0; k < kKept + kShared; ++k) {
    const unsigned c = k * kChunk + first;
    const float4 g = load4<kAligned, kThreads>(gamma, c, cols);
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const float4 z = k < kKept ? v[r][k < kKept ? k : 0] : shared[place(r, k - kKept)];
      store4<kAligned, kThreads>(y + r * std::size_t{cols}, c, row + r < rows ? cols : 0, scale4(z, factor[r], g));
    }
  }
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    for_remainder(r, [&](std::size_t i, unsigned c) { y[i] = (kAdd ? residual[i] : x[i]) * factor[r] * gamma[c]; });
  }
}

template <bool kAdd, unsigned... kLayout>
auto rms_shape() {
  using L = Layout<kLayout...>;
  return row_shape<L>(rms_norm_by_shape<L, kAdd, false>, rms_norm_by_shape<L, kAdd, true>);
}

template <bool kAdd>
const auto& rms_shapes() {
  // Rows of 8192 that share a load of gamma. With the residual's loads and stores one row is the faster by 4 %.
  constexpr unsigned kShare = kAdd ? 1 : 2;
  // threads per row and block, float4 per thread and row in registers and in shared memory, threads per block, blocks
  // per cluster, rows at a time
  static const decltype(rms_shape<kAdd, 4, 1, 0, 256, 1, 1>()) shapes[] = {
      rms_shape<kAdd, 4, 1, 0, 256, 1, 1>(),   rms_shape<kAdd, 16, 2, 0, 256, 1, 1>(),
      rms_shape<kAdd, 32, 4, 0, 256, 1, 1>(),  rms_shape<kAdd, 128, 2, 0, 128, 1, 1>(),
      rms_shape<kAdd, 512, 2, 0, 512, 1, 1>(), rms_shape<kAdd, 512, 4, 0, 512, 1, kShare>(),
      rms_shape<kAdd, 512, 8, 0, 512, 1, 1>(), rms_shape<kAdd, 512, 8, 8, 512, 1, 1>(),
      rms_shape<kAdd, 512, 4, 4, 512, 8, 2>(), rms_shape<kAdd, 512, 8, 8, 512, 16, 1>()};
  return shapes;
}

// residual is null unless kAdd.
template <bool kAdd>
void launch_rms(const float* x, const float* gamma, float* residual, float* y, std::size_t rows, std::size_t cols,
                float epsilon) {
  if (rows == 0 || cols == 0) return;
  const bool aligned = aligned_for<float4>(x, gamma, residual, y) && cols % 4 == 0;
  const auto& shape = pick(rms_shapes<kAdd>(), cols);
  launch_rows(shape, aligned, rows, [&](auto& config, auto kernel, std::size_t first, std::size_t count) {
    return cudaLaunchKernelEx(&config, kernel, x + first * cols, gamma, kAdd ? residual + first * cols : nullptr,
                              y + first * cols, count, static_cast<unsigned>(cols), epsilon);
  });
}

// The longest sum: a thread's float4 and what is read again; two levels in a float4, and 5 each in warp, block, cluster.
inline std::size_t rms_height(std::size_t cols) {
  const std::size_t remainder = cols - std::min<std::size_t>(cols, 16 * 512 * 16 * 4);
  return 16 + ceil_div(remainder, 16 * 512) + 2 + 15;
}
