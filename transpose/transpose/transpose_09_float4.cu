// Problem:  steps 07 and 08 move 4 bytes per instruction.
// Idea:     float4 global accesses on both sides, tiles of 64 x 64, if pointers and row lengths are multiples of 16
//           bytes; else scalar code. Shared memory is accessed in words, without conflicts at a pitch of 65.
// Expect:   1.0 to 1.4x step 08, 1.0 to 1.1x step 07 where aligned: 64 bytes in flight per thread instead of 16.
// Measured: 1.67x step 08, 0.79x cuBLAS at 8192x8192 (H200); 1.46x, 0.86x (H100).
// Why:      0.95x step 07 (H200): nvcc split each float4 store into four, so L2 gets 1.9 times the write sectors and is
//           at 95 % of its peak (ncu). 1.17x at 8191 x 8193: longer pieces of rows split half as many sectors.
// Next:     8191 x 8193 stays far behind. What is wrong there besides the missing float4?
#include "transpose.cuh"

constexpr int kTile = 64;
constexpr int kBlock = 256;
constexpr int kLoads = kTile * kTile / 4 / kBlock;  // float4 per thread
constexpr int kElements = kTile * kTile / kBlock;   // floats per thread, in scalar code

__global__ void __launch_bounds__(kBlock)
    transpose_float4(const float* __restrict__ in, float* __restrict__ out, std::size_t rows, std::size_t cols,
                     unsigned tiles_x, bool aligned) {
  __shared__ float tile[kTile][kTile + 1];
  const int tid = threadIdx.x;
  const std::size_t col0 = std::size_t{blockIdx.x % tiles_x} * kTile;
  const std::size_t row0 = std::size_t{blockIdx.x / tiles_x} * kTile;
  const bool whole = aligned && row0 + kTile <= rows && col0 + kTile <= cols;
  const int x = tid % 8 * 4 + tid / 32 % 2 * 32;  // a warp has 8 float4 in each of 4 rows,
  const int y = tid / 8 % 4 + tid / 64 * 4;       // the block 16 rows of 64 floats at a time

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
      *reinterpret_cast<float4*>(&out[(col0 + c) * rows + row0 + r]) =
          make_float4(tile[r][c], tile[r + 1][c], tile[r + 2][c], tile[r + 3][c]);
    }
  } else {
#pragma unroll
    for (int k = 0; k < kElements; ++k) {
      const int r = tid % kTile, c = tid / kTile + k * (kBlock / kTile);
      if (row0 + r < rows && col0 + c < cols) out[(col0 + c) * rows + row0 + r] = tile[r][c];
    }
  }
}

static void launch(const float* in, float* out, std::size_t rows, std::size_t cols) {
  if (rows == 0 || cols == 0) return;
  const bool aligned = aligned_for<float4>(in, out) && rows % 4 == 0 && cols % 4 == 0;
  const unsigned tiles_x = ceil_div(cols, kTile);
  const unsigned tiles_y = ceil_div(rows, kTile);
  transpose_float4<<<tiles_x * tiles_y, kBlock>>>(in, out, rows, cols, tiles_x, aligned);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Transpose, launch);
