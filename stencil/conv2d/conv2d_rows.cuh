// Computes several output rows per thread in registers, for steps 04 and 05. Input row 0 is K / 2 rows above the first
// output row, so weight row i adds input row r to output row r - i.
#pragma once
#include "../staged_rows.cuh"

#include <cstring>

// ---- 4 columns per thread: cols % 4 == 0, aligned images

// Loads the window of an input row: the thread's 4 columns (`own`, at `row`), and a Side on either side; 0 outside the
// image.
template <typename Side, int kWindow>
static __device__ void load_window(float (&window)[kWindow], const float4& own, const float* row, bool inside,
                                   bool left, bool right) {
  constexpr int kSide = sizeof(Side) / sizeof(float);
  static_assert(kWindow == 4 + 2 * kSide);
#pragma unroll
  for (int x = 0; x < kWindow; ++x) window[x] = 0;
  if (inside && left) {
    const Side side = *reinterpret_cast<const Side*>(row - kSide);
    memcpy(window, &side, sizeof(side));
  }
  memcpy(window + kSide, &own, sizeof(own));
  if (inside && right) {
    const Side side = *reinterpret_cast<const Side*>(row + 4);
    memcpy(window + kSide + 4, &side, sizeof(side));
  }
}

// Adds input row r, times the weights, to each output row whose filter covers it. The thread's own 4 columns are in the
// middle of the window.
template <int K, int kRows, int kWindow, int kTaps>
static __device__ void add_row(float (&sum)[kRows][4], const float (&weights)[kTaps], const float (&window)[kWindow],
                               int r) {
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

// Stores 4 columns of each output row inside the image. Streaming stores, because the output isn't read again.
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

// ---- Any shape: a tile in shared memory

// A block of kColumns threads; each computes kRows rows of one column. Call load, zero_sides, add_rows, store in this
// order. All threads must call load and zero_sides; those with col >= cols must not call store.
template <int K, int kColumns, int kRows>
struct StagedBlock {
  using Tile = float4[kRows + K - 1][kStagedFloat4<kColumns + K - 1>];
  const long long rows, cols;
  const long long row0 = tile_y() * kRows, col0 = std::int64_t{blockIdx.x} * kColumns, col = col0 + threadIdx.x;
  const int count = static_cast<int>(min(rows - row0, 1LL * kRows));  // output rows inside the image
  const unsigned address;                                             // float_address of the tile's first row

  __device__ StagedBlock(const float* in, long long rows, long long cols)
      : rows(rows), cols(cols), address(float_address(in, first(0))) {}

  // Return the first column of input row r: its index in the image, and its address in the tile.
  __device__ long long first(int r) const { return (row0 + r - K / 2) * cols + col0 - K / 2; }
  __device__ const float* row(const float4* tile_row, int r) const {
    return staged(tile_row, address + r * static_cast<unsigned>(cols));
  }

  // Starts copies of the input rows; rows outside the image become 0. The caller must wait as after stage_rows.
  __device__ void load(Tile& tile, const float* __restrict__ in) const {
    stage_rows<kColumns>(tile, in, rows * cols, 0, count + K - 1, [&](int r) { return first(r); });
  }

  // Overwrites columns outside the image, where the copies put ends of other rows, with zeros. Ends with a barrier.
  __device__ void zero_sides(Tile& tile) const {
    constexpr int kWidth = kColumns + K - 1;
    if (col0 != 0 && col0 + kColumns + K / 2 <= cols) return;  // all threads: the tile is inside the image
    for (int i = threadIdx.x; i < (count + K - 1) * kWidth; i += kColumns) {
      const int r = i / kWidth, x = i % kWidth;
      const bool outside = col0 + x < K / 2 || col0 + x >= cols + K / 2;
      if (outside) const_cast<float*>(row(tile[r], r))[x] = 0;
    }
    __syncthreads();
  }

  // Adds the input, times the weights, to the sums of this thread's column, one input row per iteration.
  template <int kTaps>
  __device__ void add_rows(float (&sum)[kRows], const float (&weights)[kTaps], const Tile& tile) const {
#pragma unroll
    for (int r = 0; r < kRows + K - 1; ++r) {
      const float* window = row(tile[r], r) + threadIdx.x;
#pragma unroll
      for (int j = 0; j < K; ++j) {
        const float pixel = window[j];
#pragma unroll
        for (int i = 0; i < K; ++i) {
          if (r - i >= 0 && r - i < kRows) sum[r - i] += weights[i * K + j] * pixel;
        }
      }
    }
  }

  __device__ void store(float* __restrict__ out, const float (&sum)[kRows]) const {
    float* to = out + row0 * cols + col;
#pragma unroll
    for (int r = 0; r < kRows; ++r, to += cols) {
      if (r >= count) break;
      *to = sum[r];
    }
  }
};
