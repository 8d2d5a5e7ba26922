// Problem:  the mean of 3 x 3 pixels: 9 FLOP for 8 bytes to and from DRAM, so memory bandwidth is the limit.
// Idea:     one thread per pixel; threadIdx.x is the row, as the outer loop "for row" suggests. That is the mistake.
// Expect:   0.03 to 0.15 of a copy: each load touches 32 sectors instead of 4 or 5, and a store writes 4 bytes of each.
// Measured: 0.05 of a copy at 8192x8192 (H200); 0.07 (H100).
// Next:     all pixels are right and all accesses are in bounds. Which metric shows the mistake?
#include "blur.cuh"

constexpr int kTileX = 32, kTileY = 8;

__global__ void blur_wrong_axis(const float* __restrict__ in, float* __restrict__ out, long long rows, long long cols) {
  const long long row = blockIdx.x * kTileX + threadIdx.x;
  const long long col = blockIdx.y * kTileY + threadIdx.y;
  if (row >= rows || col >= cols) return;
  float sum = 0;
#pragma unroll
  for (int i = 0; i < kWindow; ++i) {
#pragma unroll
    for (int j = 0; j < kWindow; ++j) sum += in[min(row + i, rows - 1) * cols + min(col + j, cols - 1)];
  }
  out[row * cols + col] = sum * kNinth;
}

static void launch(const float* in, float* out, std::size_t rows, std::size_t cols) {
  if (rows == 0 || cols == 0) return;  // a grid of 0 blocks is an error
  const dim3 block(kTileX, kTileY), grid(ceil_div(rows, kTileX), ceil_div(cols, kTileY));
  blur_wrong_axis<<<grid, block>>>(in, out, rows, cols);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Blur, launch, "cols", kTileY);
