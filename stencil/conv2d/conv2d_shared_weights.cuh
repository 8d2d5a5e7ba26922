// For step 05: passes weights through shared memory; step 04's kernels with such weights, for shapes without a tile.
#pragma once
#include "conv2d_rows.cuh"
#include "../thin_domain.cuh"

#include <type_traits>

// ---- Weights

// Number of float4 that hold the weights.
template <int K>
constexpr int kWeights = ceil_div(K* K, 4);

// Copies the weights to shared memory. All threads of the block must call it, at least K * K; a barrier must follow
// before load_weights.
template <int K>
static __device__ void share_weights(float4 (&shared)[kWeights<K>], const float* __restrict__ w) {
  const unsigned thread = threadIdx.y * blockDim.x + threadIdx.x;
  if (thread < K * K) reinterpret_cast<float*>(shared)[thread] = w[thread];
}

template <int K>
static __device__ void load_weights(float (&weights)[4 * kWeights<K>], const float4 (&shared)[kWeights<K>]) {
#pragma unroll
  for (int i = 0; i < kWeights<K>; ++i) memcpy(weights + 4 * i, &shared[i], sizeof(float4));
}

// ---- cols % 4 == 0, aligned images: step 04's kernel, 4 columns x 4 rows per thread

constexpr int kSmallX = 64, kSmallY = 2, kSmallRows = 4;  // threads, rows per thread

template <int K>
__global__ void __launch_bounds__(kSmallX* kSmallY)
    conv2d_by_filter_registers(const float* __restrict__ in, const float* __restrict__ w, float* __restrict__ out,
                               long long rows, long long cols) {
  using Side = std::conditional_t<K == 7, float4, float2>;  // columns needed on either side
  const long long col = (std::int64_t{blockIdx.x} * kSmallX + threadIdx.x) * 4;
  const long long row0 = (tile_y() * kSmallY + threadIdx.y) * kSmallRows;
  const bool left = col > 0, right = col + 4 < cols, any = row0 < rows && col < cols;
  const float* from = in + (row0 - K / 2) * cols + col;
  __shared__ float4 shared_weights[kWeights<K>];
  share_weights<K>(shared_weights, w);

  // load: this thread's columns
  float4 own[kSmallRows + K - 1];
#pragma unroll
  for (int r = 0; r < kSmallRows + K - 1; ++r) {
    const bool inside = any && row0 + r >= K / 2 && row0 + r < rows + K / 2;
    own[r] = inside ? *reinterpret_cast<const float4*>(from + r * cols) : make_float4(0, 0, 0, 0);
  }
  __syncthreads();
  if (!any) return;
  float weights[4 * kWeights<K>];
  load_weights<K>(weights, shared_weights);

  // main loop: one input row per iteration
  float sum[kSmallRows][4] = {};
#pragma unroll
  for (int r = 0; r < kSmallRows + K - 1; ++r) {
    const bool inside = row0 + r >= K / 2 && row0 + r < rows + K / 2;
    float window[4 + 2 * sizeof(Side) / sizeof(float)];
    load_window<Side>(window, own[r], from + r * cols, inside, left, right);
    add_row<K>(sum, weights, window, r);
  }
  store_rows(out, sum, row0, col, rows, cols);
}

// ---- Any shape: step 04's kernel, with kRows rows per thread

constexpr int kStagedX = 128;  // threads

template <int K, int kRows>
__global__ void __launch_bounds__(kStagedX)
    conv2d_by_filter_staged(const float* __restrict__ in, const float* __restrict__ w, float* __restrict__ out,
                            long long rows, long long cols) {
  using Block = StagedBlock<K, kStagedX, kRows>;
  __shared__ alignas(32) typename Block::Tile tile;
  __shared__ float4 shared_weights[kWeights<K>];
  const Block block(in, rows, cols);
  if (block.row0 >= rows) return;

  // load, zeros outside the image
  block.load(tile, in);
  __pipeline_commit();
  share_weights<K>(shared_weights, w);
  __pipeline_wait_prior(0);
  __syncthreads();
  block.zero_sides(tile);
  if (block.col >= cols) return;
  float weights[4 * kWeights<K>];
  load_weights<K>(weights, shared_weights);

  // main loop and store
  float sum[kRows] = {};
  block.add_rows(sum, weights, tile);
  block.store(out, sum);
}

// ---- Few rows or columns: thin_cells

template <int K, typename Index>
__global__ void __launch_bounds__(kThinBlock)
    conv2d_by_filter_thin(const float* __restrict__ in, const float* __restrict__ w, float* __restrict__ out,
                          Index rows, Divisor<Index> cols) {
  __shared__ float4 shared_weights[kWeights<K>];
  share_weights<K>(shared_weights, w);
  __syncthreads();
  float weights[4 * kWeights<K>];
  load_weights<K>(weights, shared_weights);
  thin_cells(out, rows * cols.d, cols, [&](Index pixel, Index row, Index col) {
    const auto center = static_cast<std::int64_t>(pixel), pitch = static_cast<std::int64_t>(cols.d);
    float sum = 0;
#pragma unroll
    for (int i = 0; i < K; ++i) {
      const Index r = row + i - K / 2;  // wraps to a very large number above the image; c likewise on its left
      const float* from = in + (center + (i - K / 2) * pitch);
#pragma unroll
      for (int j = 0; j < K; ++j) {
        const Index c = col + j - K / 2;
        sum += weights[i * K + j] * (r < rows && c < cols.d ? from[j - K / 2] : 0.0f);
      }
    }
    return sum;
  });
}
