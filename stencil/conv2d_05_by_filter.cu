// Problem:  at K = 7 step 04 has 70 instructions per output (SASS), 49 of them FFMA; the others load and test what is at
//           the sides. And the copy of the weights into a symbol takes 2 to 3 us.
// Idea:     K = 5 and 7: a tile of float4 in shared memory, 0 outside the image. A row's window is three 16-byte loads,
//           with no test. K = 3 stays in registers. The weights come through shared memory as well, with no copy.
// Expect:   0.95 to 1.0 of a copy at K = 3, 0.85 to 0.95 at K = 5, 0.70 to 0.80 at K = 7, 63 instructions per output.
// Measured: 0.98x step 04, 0.85 of a copy at 8192x8192x5 (H200).
// Why:      0.97, 0.85 and 0.70 of a copy at K = 3, 5 and 7, step 04 0.94, 0.87 and 0.65 (H200). At K = 5 the tile saves
//           less than its barrier costs (not tested); at 8191 x 8193 and 1080 x 1920 this step is the faster one.
// Next:     64 channels?
#include "conv2d.cuh"
#include "staged_rows.cuh"

#include <cstring>

// How many float4 hold the weights.
template <int K>
constexpr int kWeights = ceil_div(K* K, 4);

// All threads of the block, at least K * K, must call it; then a barrier.
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

// Row r of a thread's input, in window from the column left of its first output's window on, to all sums that it
// belongs to: row i of the weights takes it to output row r - i.
template <int K, int kRows, int kWindow>
static __device__ void add_row(float (&sum)[kRows][4], const float (&weights)[4 * kWeights<K>],
                               const float (&window)[kWindow], int r) {
  constexpr int kFirst = (kWindow - 4) / 2 - K / 2;
#pragma unroll
  for (int i = 0; i < K; ++i) {
    if (r - i < 0 || r - i >= kRows) continue;
#pragma unroll
    for (int j = 0; j < K; ++j) {
#pragma unroll
      for (int x = 0; x < 4; ++x) sum[r - i][x] += weights[i * K + j] * window[kFirst + x + j];
    }
  }
}

template <int kRows>
static __device__ void store_rows(float* __restrict__ out, const float (&sum)[kRows][4], long long row0, long long col,
                                  long long rows, long long cols) {
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    if (row0 + r >= rows) break;
    __stcs(reinterpret_cast<float4*>(out + (row0 + r) * cols + col),
           make_float4(sum[r][0], sum[r][1], sum[r][2], sum[r][3]));
  }
}

// ---- K = 3, cols % 4 == 0 and aligned images: step 04's kernel

constexpr int kSmallX = 64, kSmallY = 2, kSmallRows = 4;  // threads, rows per thread

__global__ void __launch_bounds__(kSmallX* kSmallY)
    conv2d_by_filter_registers(const float* __restrict__ in, const float* __restrict__ w, float* __restrict__ out,
                               long long rows, long long cols) {
  constexpr int K = 3;
  const long long col = (std::int64_t{blockIdx.x} * kSmallX + threadIdx.x) * 4;
  const long long row0 = (tile_y() * kSmallY + threadIdx.y) * kSmallRows;
  const bool any = row0 < rows && col < cols;
  const bool left = col > 0, right = col + 4 < cols;
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

  // main loop: one input row each time, columns col - 2 to col + 5
  float sum[kSmallRows][4] = {};
#pragma unroll
  for (int r = 0; r < kSmallRows + K - 1; ++r) {
    const bool inside = row0 + r >= K / 2 && row0 + r < rows + K / 2;
    float window[8] = {};
    if (inside && left) {
      const float2 side = *reinterpret_cast<const float2*>(from + r * cols - 2);
      memcpy(window, &side, sizeof(side));
    }
    memcpy(window + 2, &own[r], sizeof(own[r]));
    if (inside && right) {
      const float2 side = *reinterpret_cast<const float2*>(from + r * cols + 4);
      memcpy(window + 6, &side, sizeof(side));
    }
    add_row<K>(sum, weights, window, r);
  }
  store_rows(out, sum, row0, col, rows, cols);
}

// ---- K = 5 and 7, cols % 4 == 0 and aligned images: a tile of float4

constexpr int kTileX = 32, kTileY = 4, kTileRows = 8;  // threads, rows per thread

template <int K>
__global__ void __launch_bounds__(kTileX* kTileY)
    conv2d_by_filter_tile(const float* __restrict__ in, const float* __restrict__ w, float* __restrict__ out,
                          long long rows, long long cols) {
  constexpr int kHeight = kTileY * kTileRows + K - 1, kWidth = kTileX + 2;  // one float4 more on either side
  __shared__ float4 tile[kHeight][kWidth];
  __shared__ float4 shared_weights[kWeights<K>];
  const long long col0 = std::int64_t{blockIdx.x} * kTileX * 4, row0 = tile_y() * kTileY * kTileRows;
  if (row0 >= rows) return;

  // load; zeros outside the image
  const int top = row0 == 0 ? K / 2 : 0, bottom = static_cast<int>(min(rows + K / 2 - row0, 1LL * kHeight));
  const int left = col0 == 0 ? 1 : 0, right = static_cast<int>(min((cols - col0) / 4 + 1, 1LL * kWidth));
  const float* corner = in + (row0 - K / 2) * cols + col0 - 4;
  for (int i = threadIdx.y * kTileX + threadIdx.x; i < kHeight * kWidth; i += kTileX * kTileY) {
    const int r = i / kWidth, c = i % kWidth;
    const bool inside = r >= top && r < bottom && c >= left && c < right;
    __pipeline_memcpy_async(&tile[r][c], inside ? corner + r * cols + 4 * c : in, sizeof(float4),
                            inside ? 0 : sizeof(float4));
  }
  __pipeline_commit();
  share_weights<K>(shared_weights, w);
  __pipeline_wait_prior(0);
  __syncthreads();
  float weights[4 * kWeights<K>];
  load_weights<K>(weights, shared_weights);

  // main loop: one input row each time, columns col - 4 to col + 7
  float sum[kTileRows][4] = {};
#pragma unroll
  for (int r = 0; r < kTileRows + K - 1; ++r) {
    float window[12];
#pragma unroll
    for (int v = 0; v < 3; ++v) {
      memcpy(window + 4 * v, &tile[threadIdx.y * kTileRows + r][threadIdx.x + v], sizeof(float4));
    }
    add_row<K>(sum, weights, window, r);
  }
  const long long col = col0 + threadIdx.x * 4;
  if (col < cols) store_rows(out, sum, row0 + threadIdx.y * kTileRows, col, rows, cols);
}

// ---- Any shape: a column of kStagedRows rows per thread, as in step 04

constexpr int kStagedX = 128, kStagedRows = 24;  // pixels of a block of kStagedX threads

template <int K>
__global__ void __launch_bounds__(kStagedX)
    conv2d_by_filter_staged(const float* __restrict__ in, const float* __restrict__ w, float* __restrict__ out,
                            long long rows, long long cols) {
  constexpr int kHeight = kStagedRows + K - 1, kWidth = kStagedX + K - 1;
  __shared__ float4 tile[kHeight][kStagedFloat4<kWidth>];
  __shared__ float4 shared_weights[kWeights<K>];
  const long long col0 = std::int64_t{blockIdx.x} * kStagedX, col = col0 + threadIdx.x;
  const long long row0 = tile_y() * kStagedRows;
  if (row0 >= rows) return;
  const int count = static_cast<int>(min(rows - row0, 1LL * kStagedRows));  // rows of the output
  const auto first = [&](int r) { return (row0 + r - K / 2) * cols + col0 - K / 2; };
  const unsigned address = float_address(in, first(0)), pitch = static_cast<unsigned>(cols);

  // load; what lies beyond an end of the rows becomes 0
  stage_rows<kStagedX>(tile, in, rows * cols, 0, count + K - 1, first);
  __pipeline_commit();
  share_weights<K>(shared_weights, w);
  __pipeline_wait_prior(0);
  __syncthreads();
  if (col0 == 0 || col0 + kStagedX + K / 2 > cols) {  // the whole block
    for (int i = threadIdx.x; i < (count + K - 1) * kWidth; i += kStagedX) {
      const int r = i / kWidth, x = i % kWidth;
      const bool outside = col0 + x < K / 2 || col0 + x >= cols + K / 2;
      if (outside) const_cast<float*>(staged(tile[r], address + r * pitch))[x] = 0;
    }
    __syncthreads();
  }
  if (col >= cols) return;
  float weights[4 * kWeights<K>];
  load_weights<K>(weights, shared_weights);

  // main loop: one input row each time
  float sum[kStagedRows] = {};
#pragma unroll
  for (int r = 0; r < kHeight; ++r) {
    const float* window = staged(tile[r], address + r * pitch) + threadIdx.x;
#pragma unroll
    for (int j = 0; j < K; ++j) {
      const float pixel = window[j];
#pragma unroll
      for (int i = 0; i < K; ++i) {
        if (r - i >= 0 && r - i < kStagedRows) sum[r - i] += weights[i * K + j] * pixel;
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
static void launch_k(const float* in, const float* w, float* out, std::size_t rows, std::size_t cols) {
  const bool aligned = aligned_for<float4>(in, out) && cols % 4 == 0;
  if (!aligned) {
    const dim3 grid = tile_grid(ceil_div(cols, kStagedX), ceil_div(rows, kStagedRows));
    conv2d_by_filter_staged<K><<<grid, kStagedX>>>(in, w, out, rows, cols);
  } else if constexpr (K == 3) {
    const dim3 grid = tile_grid(ceil_div(cols, 4 * kSmallX), ceil_div(rows, kSmallY * kSmallRows));
    conv2d_by_filter_registers<<<grid, dim3(kSmallX, kSmallY)>>>(in, w, out, rows, cols);
  } else {
    const dim3 grid = tile_grid(ceil_div(cols, 4 * kTileX), ceil_div(rows, kTileY * kTileRows));
    conv2d_by_filter_tile<K><<<grid, dim3(kTileX, kTileY)>>>(in, w, out, rows, cols);
  }
  CUDA_CHECK(cudaGetLastError());
}

static void launch(const float* in, const float* w, float* out, std::size_t rows, std::size_t cols, int k) {
  if (rows == 0 || cols == 0) return;
  const auto launch_size = k == 3 ? launch_k<3> : k == 5 ? launch_k<5> : launch_k<7>;
  launch_size(in, w, out, rows, cols);
}

LADDER_STEP(Conv2d, launch);
