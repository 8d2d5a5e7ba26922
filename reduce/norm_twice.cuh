// A candidate of the norms' any_shape for rows too long to keep: reads each row twice, for its moments and for y.
#pragma once
#include "norm_row.cuh"

namespace norm_twice {

constexpr unsigned kBlock = 256, kWarps = kBlock / 32;
constexpr unsigned kKept = 8, kTile = kKept * kBlock;  // float4 in flight per thread, and per block
constexpr std::size_t kMostParts = 512;                // per row; each part has its own block

// Block b has part b % count of row b / count: every count-th tile. add_rms_norm also stores x + residual.
template <Norm kNorm>
__global__ void __launch_bounds__(kBlock, 4)
    norm_moments(const float* __restrict__ x, float* __restrict__ residual, std::size_t cols, unsigned count,
                 Moments* __restrict__ parts) {
  __shared__ float4 warps[kWarps];
  const unsigned tid = threadIdx.x, part = blockIdx.x % count;
  x += blockIdx.x / count * cols;
  residual += blockIdx.x / count * cols;
  const Peeled<128> peeled(x, cols);
  const bool same = alike(x, residual);

  // the edge, then one tile after another, each in two passes
  Moments m = {0.0f, 0.0f, 0.0f};
  const std::size_t at = part == 0 ? peeled.edge(tid, cols) : cols;
  if (at < cols) {
    const float edge = load_row<kNorm>(x + at, residual + at);
    m = kNorm == Norm::layer ? Moments{1.0f, edge, 0.0f} : Moments{0.0f, 0.0f, edge * edge};
  }
  for (std::size_t i = std::size_t{part} * kTile + tid; i < peeled.units; i += std::size_t{count} * kTile) {
    const auto left = static_cast<unsigned>(min((peeled.units - i - 1) / kBlock + 1, std::size_t{kKept}));
    const std::size_t c = peeled.head + 4 * i;
    float4 v[kKept];
#pragma unroll
    for (unsigned k = 0; k < kKept; ++k) {
      v[k] = k < left ? load_row<kNorm>(x + c + k * 4 * kBlock, residual + c + k * 4 * kBlock, same) : float4{};
    }
    Moments tile = {0.0f, 0.0f, 0.0f};
    if constexpr (kNorm == Norm::layer) {
      float sum = 0.0f;
#pragma unroll
      for (unsigned k = 0; k < kKept; ++k) sum += sum4(v[k]);
      tile.n = static_cast<float>(4 * left);
      tile.mean = sum / tile.n;
    }
#pragma unroll
    for (unsigned k = 0; k < kKept; ++k) {
      if (k < left) tile.squares += squares_of<kNorm>(v[k], tile.mean);
    }
    m = merge(m, tile);
  }
  m = merge_warps<kNorm>(merge_lanes<kNorm>(m), warps);
  if (tid == 0) parts[blockIdx.x] = m;
}

// Merges a row's parts, then normalises one. Neighbouring blocks have one part of different rows: gamma stays in L2.
template <Norm kNorm>
__global__ void __launch_bounds__(kBlock)
    norm_store(const float* __restrict__ x, const float* __restrict__ gamma, const float* __restrict__ beta,
               float* __restrict__ y, std::size_t rows, std::size_t cols, unsigned count,
               const Moments* __restrict__ parts, float epsilon) {
  __shared__ float4 warps[kWarps];
  const unsigned tid = threadIdx.x;
  const std::size_t row = blockIdx.x % rows, part = count - 1 - blockIdx.x / rows;  // L2 still holds what was read last
  Moments m = {0.0f, 0.0f, 0.0f};
  for (unsigned p = tid; p < count; p += kBlock) m = merge(m, parts[row * count + p]);
  m = merge_warps<kNorm>(merge_lanes<kNorm>(m), warps);
  const float mean = m.mean, factor = rsqrtf(m.squares / static_cast<float>(cols) + epsilon);

  x += row * cols;
  y += row * cols;
  const Peeled<128> peeled(x, cols);
  const bool whole = alike(x, y), scales = alike(x, gamma) && alike(x, beta);
  const std::size_t at = part == 0 ? peeled.edge(tid, cols) : cols;
  if (at < cols) y[at] = normed<kNorm>(x[at], mean, factor, gamma + at, beta + at);
  for (std::size_t i = part * kTile + tid; i < peeled.units; i += std::size_t{count} * kTile) {
    const auto left = static_cast<unsigned>(min((peeled.units - i - 1) / kBlock + 1, std::size_t{kKept}));
    const std::size_t c = peeled.head + 4 * i;
    float4 v[kKept];
#pragma unroll
    for (unsigned k = 0; k < kKept; ++k) v[k] = k < left ? load_unit(x + c + k * 4 * kBlock, true) : float4{};
#pragma unroll
    for (unsigned k = 0; k < kKept; ++k) {
      const std::size_t j = c + k * 4 * kBlock;
      if (k < left) store_unit(y + j, normed<kNorm>(v[k], mean, factor, gamma + j, beta + j, scales), whole);
    }
  }
}

// Shorter rows fit in a block or a team.
inline bool accepts(const NormCall& call) { return call.cols > RowNorm::kLongRow; }

template <Norm kNorm>
void launch(const NormCall& c) {
  const std::size_t count = std::min(ceil_div(c.cols / 4, std::size_t{kTile}), kMostParts), grid = c.rows * count;
  Moments* const parts = scratch<Moments>(grid);
  const auto blocks = static_cast<unsigned>(grid), per_row = static_cast<unsigned>(count);
  norm_moments<kNorm><<<blocks, kBlock>>>(c.x, c.residual, c.cols, per_row, parts);
  CUDA_CHECK(cudaGetLastError());
  const float* const z = kNorm == Norm::add_rms ? c.residual : c.x;
  norm_store<kNorm><<<blocks, kBlock>>>(z, c.gamma, c.beta, c.y, c.rows, c.cols, per_row, parts, c.epsilon);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace norm_twice
