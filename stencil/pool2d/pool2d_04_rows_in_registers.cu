// Problem:  step 03 passes each row's results through shared memory, behind a second barrier.
// Idea:     a thread has a column of four outputs in registers. It computes each input row's result once and joins it
//           to every output whose window includes the row. No shared memory: L1 has the neighbours.
// Expect:   1.3 to 1.8x step 03 at 2048x112x112x3x2/padding=1: 6.75 global loads per output, no tile, no barrier. About
//           as fast as step 01 with its 9 loads: loops still have one load in flight at a time.
// Measured: 1.62x step 03, 0.48 of a copy at 2048x112x112x3x2/padding=1 (H200).
// Next:     the compiler doesn't know k and stride. What would it do if it did?
#include "../plane_grid.cuh"
#include "pool2d.cuh"

constexpr int kTileX = 32, kTileY = 8;  // threads
constexpr int kRows = 4;                // outputs per thread, in a column

template <bool kMean>
__global__ void pool2d_rows_in_registers(const float* __restrict__ in, float* __restrict__ out, PoolShape s,
                                         int tiles_x) {
  const std::int64_t plane = plane_of_block();
  const int row0 = (static_cast<int>(blockIdx.x / tiles_x) * kTileY + threadIdx.y) * kRows;
  const int col = static_cast<int>(blockIdx.x % tiles_x) * kTileX + threadIdx.x;
  if (plane >= s.planes || row0 >= s.out_rows || col >= s.out_cols) return;
  in += plane * s.rows * s.cols;
  const int c0 = s.first(col), c1 = s.last(col, s.cols);
  float v[kRows];
#pragma unroll
  for (int o = 0; o < kRows; ++o) v[o] = Pool<kMean>::nothing();

  // input rows of the four windows; row i = 0 is the first window's first
  for (int i = 0; i < (kRows - 1) * s.stride + s.k; ++i) {
    const int r = row0 * s.stride - s.padding + i;
    if (r < 0 || r >= s.rows) continue;
    float along = Pool<kMean>::nothing();
    for (int c = c0; c < c1; ++c) along = Pool<kMean>::join(along, in[std::int64_t{r} * s.cols + c]);
#pragma unroll
    for (int o = 0; o < kRows; ++o) {
      if (i >= o * s.stride && i < o * s.stride + s.k) v[o] = Pool<kMean>::join(v[o], along);
    }
  }

  // store
#pragma unroll
  for (int o = 0; o < kRows; ++o) {
    const int row = row0 + o, count = max(s.last(row, s.rows) - s.first(row), 0) * max(c1 - c0, 0);
    if (row < s.out_rows) out[(plane * s.out_rows + row) * s.out_cols + col] = Pool<kMean>::result(v[o], count);
  }
}

static void launch(const float* in, float* out, std::size_t planes, std::size_t rows, std::size_t cols, int k,
                   int stride, int padding, bool mean) {
  const PoolShape s = pool_shape(planes, rows, cols, k, stride, padding);
  if (planes == 0 || s.out_rows == 0 || s.out_cols == 0) return;
  const int tiles_x = ceil_div(s.out_cols, kTileX), tiles_y = ceil_div(s.out_rows, kTileY * kRows);
  const dim3 block(kTileX, kTileY), grid = plane_grid(std::size_t{1} * tiles_x * tiles_y, planes);
  const auto kernel = mean ? pool2d_rows_in_registers<true> : pool2d_rows_in_registers<false>;
  kernel<<<grid, block>>>(in, out, s, tiles_x);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Pool2d, launch);
