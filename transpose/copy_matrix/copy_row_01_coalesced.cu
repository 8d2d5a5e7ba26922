// Problem:  how fast would a naive transpose be if both sides were coalesced?
// Idea:     transpose_01's blocks of 32 x 32 threads, but the output is written along rows too: 4 sectors per request.
// Expect:   0.58 to 0.64 of a copy: 0.9 to 1.0x the scalar copy_01, which has as many bytes in flight per SM.
// Measured: 0.48 of a copy at 8192x8192 (H200); 0.63 (H100).
// Why:      0.75x copy_01 (H200). An SM holds two blocks of 1024 threads; when one ends, half of its warps are missing
//           until the next starts. ncu: 59 % are resident on average (H200), 71 % in copy_01.
// Next:     why compare with a copy, not with the data sheet? (DRAM refresh, row misses, read-write turnaround.)
#include "copy_matrix.cuh"

constexpr int kTile = 32;

__global__ void copy_row(const float* __restrict__ in, float* __restrict__ out, std::size_t rows, std::size_t cols) {
  const std::size_t col = std::size_t{blockIdx.x} * kTile + threadIdx.x;
  const std::size_t row = std::size_t{blockIdx.y} * kTile + threadIdx.y;
  if (row < rows && col < cols) out[row * cols + col] = in[row * cols + col];
}

static void launch(const float* in, float* out, std::size_t rows, std::size_t cols) {
  if (rows == 0 || cols == 0) return;  // a grid of 0 blocks is an error
  const dim3 block(kTile, kTile), grid(ceil_div(cols, kTile), ceil_div(rows, kTile));
  copy_row<<<grid, block>>>(in, out, rows, cols);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(CopyMatrix, "copy_row", launch, kTile);
