// Problem:  step 02 loads 9 pixels for one result.
// Idea:     a box filter is separable: sums of 3 along rows into a second image, then sums of 3 down columns: 6 loads
//           instead of 9. In place, the second pass would read sums that other blocks have replaced.
// Expect:   0.4 to 0.6x step 02: the saved loads hit L1, but a second image is written and read.
// Measured: 0.73x step 02, 0.27 of a copy at 8192x8192 (H200); 0.67x, 0.35 (H100).
// Why:      step 02's limit is its 121 instructions per pixel, not DRAM. The two passes have 61 and 67 (ncu).
// Next:     how do you get 6 loads without the second image?
#include "blur.cuh"

constexpr int kTileX = 32, kTileY = 8;

__global__ void blur_rows(const float* __restrict__ in, float* __restrict__ sums, long long rows, long long cols) {
  const long long row = blockIdx.y * kTileY + threadIdx.y;
  const long long col = blockIdx.x * kTileX + threadIdx.x;
  if (row >= rows || col >= cols) return;
  float sum = 0;
#pragma unroll
  for (int j = 0; j < kWindow; ++j) sum += in[row * cols + min(col + j, cols - 1)];
  sums[row * cols + col] = sum;
}

__global__ void blur_columns(const float* __restrict__ sums, float* __restrict__ out, long long rows, long long cols) {
  const long long row = blockIdx.y * kTileY + threadIdx.y;
  const long long col = blockIdx.x * kTileX + threadIdx.x;
  if (row >= rows || col >= cols) return;
  float sum = 0;
#pragma unroll
  for (int i = 0; i < kWindow; ++i) sum += sums[min(row + i, rows - 1) * cols + col];
  out[row * cols + col] = sum * kNinth;
}

static void launch(const float* in, float* out, std::size_t rows, std::size_t cols) {
  if (rows == 0 || cols == 0) return;
  const dim3 block(kTileX, kTileY), grid(ceil_div(cols, kTileX), ceil_div(rows, kTileY));
  float* sums = scratch<float>(rows * cols);
  blur_rows<<<grid, block>>>(in, sums, rows, cols);
  CUDA_CHECK(cudaGetLastError());
  blur_columns<<<grid, block>>>(sums, out, rows, cols);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Blur, launch, "rows", kTileY);
