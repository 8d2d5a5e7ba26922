// Problem:  step 03 has one FFMA per shared-memory load.
// Idea:     a thread keeps the sums of 4 columns x 4 rows in registers. The float4 of its own columns, one per input
//           row, are all in flight before the first is used; those to the left and right hit L1. No barrier.
// Expect:   0.9 to 1.0 of a copy at K = 3 and 5; 0.6 to 0.85 at K = 7, where the FFMA alone (101 us at 65 TFLOP/s) take
//           more than half as long as the copy (129 us on the H200, 181 us on the H100) and hide behind it in part.
// Measured: 3.15x step 03, 0.87 of a copy at 8192x8192x5 (H200).
// Why:      0.94, 0.87 and 0.65 of a copy at K = 3, 5 and 7 (H200). 8 rows per thread are faster at K = 5, slower at 7.
// Next:     at K = 7 there are 70 instructions per output (SASS), 49 of them FFMA. Which of the others can go?
#include "conv2d.cuh"
#include "staged_rows.cuh"

#include <cstring>
#include <type_traits>

static __constant__ float conv2d_block_w[kMostTaps];

// ---- cols % 4 == 0 and aligned images

constexpr int kBlockX = 64, kBlockY = 2;  // threads
constexpr int kRows = 4;                  // per thread

template <int K>
__global__ void __launch_bounds__(kBlockX* kBlockY)
    conv2d_register_blocking(const float* __restrict__ in, float* __restrict__ out, long long rows, long long cols) {
  using Side = std::conditional_t<K == 7, float4, float2>;  // what is needed on either side
  constexpr int kSide = sizeof(Side) / sizeof(float);
  const long long col = (std::int64_t{blockIdx.x} * kBlockX + threadIdx.x) * 4;
  const long long row0 = (tile_y() * kBlockY + threadIdx.y) * kRows;
  if (row0 >= rows || col >= cols) return;
  const bool left = col > 0, right = col + 4 < cols;
  const float* from = in + (row0 - K / 2) * cols + col;

  // load: this thread's columns
  float4 own[kRows + K - 1];
#pragma unroll
  for (int r = 0; r < kRows + K - 1; ++r) {
    const bool inside = row0 + r >= K / 2 && row0 + r < rows + K / 2;
    own[r] = inside ? *reinterpret_cast<const float4*>(from + r * cols) : make_float4(0, 0, 0, 0);
  }

  // main loop: one input row each time, columns col - kSide to col + 3 + kSide. Add it to every output row that it
  // belongs to.
  float sum[kRows][4] = {};
#pragma unroll
  for (int r = 0; r < kRows + K - 1; ++r) {
    const bool inside = row0 + r >= K / 2 && row0 + r < rows + K / 2;
    float window[4 + 2 * kSide] = {};
    if (inside && left) {
      const Side side = *reinterpret_cast<const Side*>(from + r * cols - kSide);
      memcpy(window, &side, sizeof(side));
    }
    memcpy(window + kSide, &own[r], sizeof(own[r]));
    if (inside && right) {
      const Side side = *reinterpret_cast<const Side*>(from + r * cols + 4);
      memcpy(window + kSide + 4, &side, sizeof(side));
    }
#pragma unroll
    for (int i = 0; i < K; ++i) {  // row i of the weights takes this row to output row r - i
      if (r - i < 0 || r - i >= kRows) continue;
#pragma unroll
      for (int j = 0; j < K; ++j) {
#pragma unroll
        for (int x = 0; x < 4; ++x) sum[r - i][x] += conv2d_block_w[i * K + j] * window[kSide + x + j - K / 2];
      }
    }
  }

  // store
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    if (row0 + r >= rows) break;
    __stcs(reinterpret_cast<float4*>(out + (row0 + r) * cols + col),
           make_float4(sum[r][0], sum[r][1], sum[r][2], sum[r][3]));
  }
}

// ---- Any shape: a column of kStagedRows rows per thread. Lanes read and write neighbouring floats.

constexpr int kStagedX = 128, kStagedRows = 16;  // pixels of a block of kStagedX threads

template <int K>
__global__ void __launch_bounds__(kStagedX)
    conv2d_register_blocking_staged(const float* __restrict__ in, float* __restrict__ out, long long rows,
                                    long long cols) {
  constexpr int kTileRows = kStagedRows + K - 1, kTileCols = kStagedX + K - 1;
  __shared__ float4 tile[kTileRows][kStagedFloat4<kTileCols>];
  const long long col0 = std::int64_t{blockIdx.x} * kStagedX, col = col0 + threadIdx.x;
  const long long row0 = tile_y() * kStagedRows;
  if (row0 >= rows) return;
  const int count = static_cast<int>(min(rows - row0, 1LL * kStagedRows));  // rows of the output
  const auto first = [&](int r) { return (row0 + r - K / 2) * cols + col0 - K / 2; };
  const unsigned address = float_address(in, first(0)), pitch = static_cast<unsigned>(cols);

  // load; what lies beyond an end of the rows becomes 0
  stage_rows<kStagedX>(tile, in, rows * cols, 0, count + K - 1, first);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  if (col0 == 0 || col0 + kStagedX + K / 2 > cols) {  // the whole block
    for (int i = threadIdx.x; i < (count + K - 1) * kTileCols; i += kStagedX) {
      const int r = i / kTileCols, x = i % kTileCols;
      const bool outside = col0 + x < K / 2 || col0 + x >= cols + K / 2;
      if (outside) const_cast<float*>(staged(tile[r], address + r * pitch))[x] = 0;
    }
    __syncthreads();
  }
  if (col >= cols) return;

  // main loop: one input row each time
  float sum[kStagedRows] = {};
#pragma unroll
  for (int r = 0; r < kTileRows; ++r) {
    const float* window = staged(tile[r], address + r * pitch) + threadIdx.x;
#pragma unroll
    for (int j = 0; j < K; ++j) {
      const float pixel = window[j];
#pragma unroll
      for (int i = 0; i < K; ++i) {
        if (r - i >= 0 && r - i < kStagedRows) sum[r - i] += conv2d_block_w[i * K + j] * pixel;
      }
    }
  }

  // store
  float* to = out + row0 * cols + col;
#pragma unroll
  for (int r = 0; r < kStagedRows; ++r, to += cols) {
    if (r >= count) break;
    *to = sum[r];
  }
}

template <int K>
static void launch_k(const float* in, float* out, std::size_t rows, std::size_t cols) {
  if (aligned_for<float4>(in, out) && cols % 4 == 0) {
    const dim3 grid = tile_grid(ceil_div(cols, 4 * kBlockX), ceil_div(rows, kRows * kBlockY));
    conv2d_register_blocking<K><<<grid, dim3(kBlockX, kBlockY)>>>(in, out, rows, cols);
  } else {
    const dim3 grid = tile_grid(ceil_div(cols, kStagedX), ceil_div(rows, kStagedRows));
    conv2d_register_blocking_staged<K><<<grid, kStagedX>>>(in, out, rows, cols);
  }
  CUDA_CHECK(cudaGetLastError());
}

static void launch(const float* in, const float* w, float* out, std::size_t rows, std::size_t cols, int k) {
  if (rows == 0 || cols == 0) return;
  CUDA_CHECK(cudaMemcpyToSymbol(conv2d_block_w, w, k * k * sizeof(float), 0, cudaMemcpyDeviceToDevice));
  const auto launch_size = k == 3 ? launch_k<3> : k == 5 ? launch_k<5> : launch_k<7>;
  launch_size(in, out, rows, cols);
}

LADDER_STEP(Conv2d, launch);
