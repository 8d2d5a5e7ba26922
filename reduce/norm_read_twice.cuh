// Rows that the GPU does not keep, for the last steps of the norms: every row is read twice, once for its moments and
// once for y. No block waits for another, and gamma and beta are read once for many rows.
#pragma once
#include "norm_piece.cuh"

namespace norm_twice {

constexpr unsigned kBlock = 256, kWarps = kBlock / 32;
constexpr unsigned kChunk = 8;                              // float4 of a thread that are in flight for the moments
constexpr unsigned kMomentsShare = 2 * kChunk * kBlock;     // float4 of a row for a block
constexpr unsigned kTile = 4, kTileShare = kTile * kBlock;  // the same, when y is stored

inline std::size_t parts_of(std::size_t cols, unsigned share) {
  return std::max<std::size_t>(ceil_div(cols / 4, std::size_t{share}), 1);
}

// The mean and the squares of part b % count of row b / count, for block b. add_rms_norm stores the sum.
template <Norm kNorm>
__global__ void __launch_bounds__(kBlock, 4)
    norm_moments(const float* __restrict__ x, float* __restrict__ residual, std::size_t cols, unsigned count,
                 float2* __restrict__ parts) {
  __shared__ float4 warps[kWarps];
  const unsigned tid = threadIdx.x;
  const std::size_t skip = blockIdx.x / count * cols;
  const Piece piece(cols, blockIdx.x % count, kMomentsShare);
  const unsigned head = piece.head(x + skip), own = piece.count(head);
  const float* const from = x + skip + piece.column + head;
  float* const sum = residual + skip + piece.column + head;
  const bool same = alike(x, residual);

  // the edge, and a chunk after another, by two passes each
  Moments m = {0.0f, 0.0f, 0.0f};
  const std::size_t at = piece.edge(tid, head);
  if (at < cols) {
    const float edge = load_row<kNorm>(x + skip + at, residual + skip + at);
    m = kNorm == Norm::layer ? Moments{1.0f, edge, 0.0f} : Moments{0.0f, 0.0f, edge * edge};
  }
  for (unsigned first = tid; first < own; first += kChunk * kBlock) {
    float4 v[kChunk];
#pragma unroll
    for (unsigned k = 0; k < kChunk; ++k) {
      const unsigned i = first + k * kBlock;
      v[k] = i < own ? load_row<kNorm>(from + 4 * i, sum + 4 * i, same) : float4{};
    }
    Moments chunk = {0.0f, 0.0f, 0.0f};
    if constexpr (kNorm == Norm::layer) {
      float total = 0.0f;
#pragma unroll
      for (unsigned k = 0; k < kChunk; ++k) total += sum4(v[k]);
      chunk.n = static_cast<float>(4 * min(kChunk, (own - first - 1) / kBlock + 1));
      chunk.mean = total / chunk.n;
    }
#pragma unroll
    for (unsigned k = 0; k < kChunk; ++k) {
      if (first + k * kBlock < own) chunk.squares += squares_of<kNorm>(v[k], chunk.mean);
    }
    m = merge(m, chunk);
  }
  m = merge_warps<kNorm, kWarps>(merge_lanes<kNorm>(m), warps);
  if (tid == 0) parts[blockIdx.x] = {m.mean, m.squares};
}

// The mean of a row for each block, and 1 / deviation.
template <Norm kNorm>
__global__ void __launch_bounds__(kBlock)
    norm_merge(const float* __restrict__ x, std::size_t cols, unsigned count, const float2* __restrict__ parts,
               float2* __restrict__ results, float epsilon) {
  __shared__ float4 warps[kWarps];
  const std::size_t row = blockIdx.x;
  const Piece piece(cols, 0, kMomentsShare);
  const unsigned head = piece.head(x + row * cols);
  Moments m = {0.0f, 0.0f, 0.0f};
  for (unsigned part = threadIdx.x; part < count; part += kBlock) {
    const float2 found = parts[row * count + part];
    m = merge(m, {piece.elements(part, head), found.x, found.y});
  }
  m = merge_warps<kNorm, kWarps>(merge_lanes<kNorm>(m), warps);
  if (threadIdx.x == 0) results[row] = {m.mean, rsqrtf(m.squares / static_cast<float>(cols) + epsilon)};
}

// Scale, shift, store: block b has a tile of columns, b / groups, and of every `groups` rows one. Both go from the last
// to the first, as L2 still holds what was read last.
template <Norm kNorm>
__global__ void __launch_bounds__(kBlock)
    norm_store(const float* __restrict__ x, const float* __restrict__ gamma, const float* __restrict__ beta,
               const float* __restrict__ residual, float* __restrict__ y, std::size_t rows, std::size_t cols,
               unsigned groups, const float2* __restrict__ results) {
  extern __shared__ float4 shared[];
  const unsigned tid = threadIdx.x;
  const Piece piece(cols, (gridDim.x - 1 - blockIdx.x) / groups, kTileShare);
  const Scales<kNorm> scales(reinterpret_cast<float*>(shared), gamma, beta, piece);
  scales.wait();
  __syncthreads();
  const float* const in = kNorm == Norm::add_rms ? residual : x;
  const bool same = alike(in, x), whole = alike(x, y);

  for (std::size_t done = blockIdx.x % groups; done < rows; done += groups) {
    const std::size_t row = rows - 1 - done, skip = row * cols;
    const unsigned head = piece.head(x + skip), count = piece.count(head);
    const std::size_t first = skip + piece.column + head + 4 * tid;
    float4 v[kTile];
#pragma unroll
    for (unsigned k = 0; k < kTile; ++k) {
      v[k] = k * kBlock + tid < count ? load_unit(in + first + k * 4 * kBlock, same) : float4{};
    }
    const float mean = results[row].x, factor = results[row].y;
    const std::size_t at = piece.edge(tid, head);
    if (at < cols) y[skip + at] = normed<kNorm>(in[skip + at], mean, factor, gamma + at, beta + at);
    with_shift(head, [&](auto shift) {
#pragma unroll
      for (unsigned k = 0; k < kTile; ++k) {
        const unsigned i = k * kBlock + tid;
        if (i >= count) continue;
        const float4 u = scales.template normed<decltype(shift)::value>(v[k], mean, factor, head, i);
        store_unit(y + first + k * 4 * kBlock, u, whole);
      }
    });
  }
}

// rows and cols are not 0. beta is gamma, residual y where the norm has none.
template <Norm kNorm>
void launch(const float* x, const float* gamma, const float* beta, float* residual, float* y, std::size_t rows,
            std::size_t cols, float epsilon) {
  const std::size_t count = parts_of(cols, kMomentsShare), tiles = parts_of(cols, kTileShare);
  float2* const parts = scratch<float2>(rows * (count + 1));
  float2* const results = parts + rows * count;
  const auto blocks = static_cast<unsigned>(rows), per_row = static_cast<unsigned>(count);
  norm_moments<kNorm><<<blocks * per_row, kBlock>>>(x, residual, cols, per_row, parts);
  CUDA_CHECK(cudaGetLastError());
  norm_merge<kNorm><<<blocks, kBlock>>>(x, cols, per_row, parts, results, epsilon);
  CUDA_CHECK(cudaGetLastError());
  // at least four waves of blocks, or the last one would leave many SMs idle
  const std::size_t bytes = Scales<kNorm>::bytes(kTileShare);
  const std::size_t blocks_wanted = 4 * resident_blocks(norm_store<kNorm>, kBlock, bytes);
  const auto groups = static_cast<unsigned>(std::min(rows, ceil_div(blocks_wanted, tiles)));
  norm_store<kNorm><<<static_cast<unsigned>(tiles) * groups, kBlock, bytes>>>(x, gamma, beta, residual, y, rows, cols,
                                                                              groups, results);
  CUDA_CHECK(cudaGetLastError());
}

// The longest sum in a chunk: a thread's float4, two levels in each. And the merges of a thread, one after another: its
// edge, its chunks; then the parts of a row.
constexpr std::size_t height_of_chunk() { return kChunk + 2; }
inline std::size_t merges_of_thread(std::size_t cols) {
  const std::size_t parts = parts_of(cols, kMomentsShare);
  return 1 + kMomentsShare / (kChunk * kBlock) + ceil_div(parts, std::size_t{kBlock});
}

}  // namespace norm_twice
