// Rows in the registers of one block or of a part of it, at any alignment, for the last steps of the norms.
#pragma once
#include "norm_row.cuh"
#include "norm_shapes.hpp"

#include <utility>

namespace norm_registers {

// Threads on an SM that the registers must leave room for: fewer float4 need fewer registers.
constexpr unsigned threads_per_sm(unsigned kept) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 750
  return 1024;  // there are no more
#else
  return kept <= 4 ? 1536 : 1024;
#endif
}

// kBlock / kThreads rows per block, a row's float4 in registers, and at most two of the elements at its edges for each
// thread.
template <Norm kNorm, unsigned kThreads, unsigned kKept, unsigned kBlock>
__global__ void __launch_bounds__(kBlock, threads_per_sm(kKept) / kBlock)
    norm_peeled(const float* __restrict__ x, const float* __restrict__ gamma, const float* __restrict__ beta,
                float* __restrict__ residual, float* __restrict__ y, std::size_t rows, unsigned cols, float epsilon) {
  constexpr unsigned kGroup = kThreads < 32 ? kThreads : 32;
  const unsigned t = threadIdx.x % kThreads;
  const std::size_t row = std::size_t{blockIdx.x} * (kBlock / kThreads) + threadIdx.x / kThreads;
  const unsigned length = row < rows ? cols : 0;  // no return: all threads must reach shuffles and barrier
  x += row * cols;
  y += row * cols;
  if (kNorm == Norm::add_rms) residual += row * cols;
  const Peeled<kThreads >= 64 ? 128 : 16> part(x, length);
  const auto units = static_cast<unsigned>(part.units);

  // load
  float4 v[kKept];
  const bool same = alike(x, residual);
#pragma unroll
  for (unsigned k = 0; k < kKept; ++k) {
    const unsigned i = part.head + 4 * (k * kThreads + t);
    v[k] = k * kThreads + t < units ? load_row<kNorm>(x + i, residual + i, same) : float4{};
  }
  constexpr unsigned kEdges = kThreads < 8 ? 2 : 1;
  unsigned at[kEdges];
  float edge[kEdges];
#pragma unroll
  for (unsigned k = 0; k < kEdges; ++k) {
    at[k] = static_cast<unsigned>(part.edge(k * kThreads + t, length));
    edge[k] = at[k] < length ? load_row<kNorm>(x + at[k], residual + at[k]) : 0.0f;
  }

  // what the warp has of a row, or its lanes: the number of elements, their mean, the squared distances from it
  Moments m = {static_cast<float>(cols), 0.0f, 0.0f};
  if constexpr (kNorm == Norm::layer) {
    float sum = 0.0f;
    unsigned count = 0;
#pragma unroll
    for (unsigned k = 0; k < kKept; ++k) {
      sum += sum4(v[k]);
      count += k * kThreads + t < units ? 4 : 0;
    }
#pragma unroll
    for (unsigned k = 0; k < kEdges; ++k) {
      sum += edge[k];
      count += at[k] < length ? 1 : 0;
    }
    if (kThreads > 32) m.n = lanes_sum<32>(static_cast<float>(count));
    m.mean = lanes_sum<kGroup>(sum) / fmaxf(m.n, 1.0f);
  }
#pragma unroll
  for (unsigned k = 0; k < kKept; ++k) {
    if (k * kThreads + t < units) m.squares += squares_of<kNorm>(v[k], m.mean);
  }
#pragma unroll
  for (unsigned k = 0; k < kEdges; ++k) {
    if (at[k] < length) m.squares += (edge[k] - m.mean) * (edge[k] - m.mean);
  }
  m.squares = lanes_sum<kGroup>(m.squares);
  if constexpr (kThreads > 32) {  // merge the warps; such a block has one row
    __shared__ float4 warps[kBlock / 32];
    const unsigned lane = threadIdx.x % 32;
    if (lane == 0) warps[threadIdx.x / 32] = {m.n, m.mean, m.squares, 0.0f};
    __syncthreads();
    const float4 warp = lane < kBlock / 32 ? warps[lane] : float4{};
    m = merge_lanes<kNorm>({warp.x, warp.y, warp.z});
  }

  // scale, shift, store
  const float factor = rsqrtf(m.squares / static_cast<float>(cols) + epsilon);
  const bool whole = alike(x, y), scales = alike(x, gamma) && (kNorm != Norm::layer || alike(x, beta));
#pragma unroll
  for (unsigned k = 0; k < kEdges; ++k) {
    if (at[k] < length) y[at[k]] = normed<kNorm>(edge[k], m.mean, factor, gamma + at[k], beta + at[k]);
  }
#pragma unroll
  for (unsigned k = 0; k < kKept; ++k) {
    const unsigned i = part.head + 4 * (k * kThreads + t);
    if (k * kThreads + t < units) {
      store_unit(y + i, normed<kNorm>(v[k], m.mean, factor, gamma + i, beta + i, scales), whole);
    }
  }
}

using Kernel = void (*)(const float*, const float*, const float*, float*, float*, std::size_t, unsigned, float);
template <Norm kNorm, std::size_t... kShapes>
Kernel kernel_of(std::size_t shape, std::index_sequence<kShapes...>) {
  static const Kernel kernels[] = {
      norm_peeled<kNorm, kNormShapes[kShapes].threads, kNormShapes[kShapes].kept, kNormShapes[kShapes].block>...};
  return kernels[shape];
}

// norm_shape(cols) < kNormShapeCount; rows is not 0. beta is gamma, residual y where the norm has none.
template <Norm kNorm>
void launch(const float* x, const float* gamma, const float* beta, float* residual, float* y, std::size_t rows,
            std::size_t cols, float epsilon) {
  const std::size_t shape = norm_shape(cols);
  const NormShape& s = kNormShapes[shape];
  const auto grid = static_cast<unsigned>(ceil_div(rows, std::size_t{s.block / s.threads}));
  const Kernel kernel = kernel_of<kNorm>(shape, std::make_index_sequence<kNormShapeCount>{});
  kernel<<<grid, s.block>>>(x, gamma, beta, residual, y, rows, static_cast<unsigned>(cols), epsilon);
  CUDA_CHECK(cudaGetLastError());
}

// The longest sum: a thread's float4 and edges, two levels in a float4, 5 in the warp; and over the warps 5.
inline std::size_t height(std::size_t cols) { return kNormShapes[norm_shape(cols)].kept + 2 + 2 + 5 + 5; }

}  // namespace norm_registers
