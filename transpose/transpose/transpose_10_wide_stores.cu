// Problem:  nvcc splits each float4 store of step 09 into four.
// Idea:     __stcs stays one 16-byte store. 16 lanes per row: a warp moves two pieces of 256 bytes, at the cost of
//           2-way bank conflicts. Tiles are numbered down the columns.
// Expect:   1.2 to 1.4x step 09 where aligned: a quarter of the stores, half the write sectors. 1.0x elsewhere.
// Measured: 1.36x step 09, 1.07x cuBLAS at 8192x8192 (H200).
// Next:     at 8191x8193 it moves single floats. Which block writes a sector that two tiles share?
#include "transpose.cuh"

constexpr int kTile = 64;
constexpr int kBlock = 256;
constexpr int kLoads = kTile * kTile / 4 / kBlock;  // float4 per thread
constexpr int kElements = kTile * kTile / kBlock;   // floats per thread, in scalar code

// Tiles are numbered down the columns, so concurrent blocks write neighbouring pieces of the same output rows.
__global__ void __launch_bounds__(kBlock, 1)
    transpose_wide_stores(const float* __restrict__ in, float* __restrict__ out, std::size_t rows, std::size_t cols,
                          unsigned tiles_y, bool aligned) {
  __shared__ float tile[kTile][kTile + 1];
  const int tid = threadIdx.x;
  const std::size_t col0 = std::size_t{blockIdx.x / tiles_y} * kTile;
  const std::size_t row0 = std::size_t{blockIdx.x % tiles_y} * kTile;
  const bool whole = aligned && row0 + kTile <= rows && col0 + kTile <= cols;
  const int x = tid % 16 * 4, y = tid / 16;  // the block has 16 rows of 64 floats at a time

  // load
  if (whole) {
    float4 v[kLoads];
#pragma unroll
    for (int k = 0; k < kLoads; ++k) {
      v[k] = *reinterpret_cast<const float4*>(&in[(row0 + y + 16 * k) * cols + col0 + x]);
    }
#pragma unroll
    for (int k = 0; k < kLoads; ++k) {
      float* to = &tile[y + 16 * k][x];
      to[0] = v[k].x, to[1] = v[k].y, to[2] = v[k].z, to[3] = v[k].w;
    }
  } else {
#pragma unroll
    for (int k = 0; k < kElements; ++k) {
      const int c = tid % kTile, r = tid / kTile + k * (kBlock / kTile);
      if (row0 + r < rows && col0 + c < cols) tile[r][c] = in[(row0 + r) * cols + col0 + c];
    }
  }
  __syncthreads();
  // store
  if (whole) {
#pragma unroll
    for (int k = 0; k < kLoads; ++k) {
      const int r = x, c = y + 16 * k;  // x runs down the tile
      __stcs(reinterpret_cast<float4*>(&out[(col0 + c) * rows + row0 + r]),
             make_float4(tile[r][c], tile[r + 1][c], tile[r + 2][c], tile[r + 3][c]));
    }
  } else {
#pragma unroll
    for (int k = 0; k < kElements; ++k) {
      const int r = tid % kTile, c = tid / kTile + k * (kBlock / kTile);
      if (row0 + r < rows && col0 + c < cols) out[(col0 + c) * rows + row0 + r] = tile[r][c];
    }
  }
}

static bool has_aligned_rows(const float* in, float* out, std::size_t rows, std::size_t cols) {
  return aligned_for<float4>(in, out) && rows % 4 == 0 && cols % 4 == 0;
}

static void launch_wide_stores(const float* in, float* out, std::size_t rows, std::size_t cols) {
  if (rows == 0 || cols == 0) return;
  const unsigned tiles_x = ceil_div(cols, kTile);
  const unsigned tiles_y = ceil_div(rows, kTile);
  const bool aligned = has_aligned_rows(in, out, rows, cols);
  transpose_wide_stores<<<tiles_x * tiles_y, kBlock>>>(in, out, rows, cols, tiles_y, aligned);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Transpose, launch_wide_stores);
