// Problem:  in step 01 the lanes of a warp access 32 rows: 32 sectors per request.
// Idea:     threadIdx.x is the column; nothing else changes.
// Expect:   0.6 to 0.8 of a copy, like a copy of 4-byte words: 4 or 5 sectors per request, and L1 serves 8 of 9 loads.
// Measured: 7.99x step 01, 0.38 of a copy at 8192x8192 (H200); 7.96x, 0.53 (H100).
// Why:      both cards take equally long: DRAM isn't the limit. 121 instructions per pixel use 72 % of the issue slots.
// Next:     each pixel is loaded 9 times. Would 6 loads be faster?
#include "blur.cuh"

constexpr int kTileX = 32, kTileY = 8;

__global__ void blur_right_axis(const float* __restrict__ in, float* __restrict__ out, long long rows, long long cols) {
  const long long row = blockIdx.y * kTileY + threadIdx.y;
  const long long col = blockIdx.x * kTileX + threadIdx.x;
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
  if (rows == 0 || cols == 0) return;
  const dim3 block(kTileX, kTileY), grid(ceil_div(cols, kTileX), ceil_div(rows, kTileY));
  blur_right_axis<<<grid, block>>>(in, out, rows, cols);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Blur, launch, "rows", kTileY);
