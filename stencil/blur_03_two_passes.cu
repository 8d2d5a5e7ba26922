// Step 02 loads 9 pixels for one. A box is separable: sums of 3 along the row, then sums of 3 of those down the column,
// 6 loads instead of 9. Idea: two kernels, with a second image between them. That image cannot be spared: a column pass
// in place would read sums that other blocks have already replaced.
// Expect: a loss, about half of step 02's speed. What was saved are loads that L1 answers, what was added is a whole
// image written and read again. On a CPU without a vector unit the same idea pays; here bytes count, not operations.
// Next question: how to have 6 loads without the second image? (Keep the row sums on the chip.)
#include "blur.cuh"

constexpr int kTileX = 32, kTileY = 8;

__global__ void blur_rows(const float* __restrict__ in, float* __restrict__ sums, long long rows, long long cols,
                          unsigned tiles_x) {
  const long long row = static_cast<long long>(blockIdx.x / tiles_x) * kTileY + threadIdx.y;
  const long long col = static_cast<long long>(blockIdx.x % tiles_x) * kTileX + threadIdx.x;
  if (row >= rows || col >= cols) return;
  float sum = 0;
#pragma unroll
  for (int j = 0; j < kWindow; ++j) sum += in[row * cols + min(col + j, cols - 1)];
  sums[row * cols + col] = sum;
}

__global__ void blur_columns(const float* __restrict__ sums, float* __restrict__ out, long long rows, long long cols,
                             unsigned tiles_x) {
  const long long row = static_cast<long long>(blockIdx.x / tiles_x) * kTileY + threadIdx.y;
  const long long col = static_cast<long long>(blockIdx.x % tiles_x) * kTileX + threadIdx.x;
  if (row >= rows || col >= cols) return;
  float sum = 0;
#pragma unroll
  for (int i = 0; i < kWindow; ++i) sum += sums[min(row + i, rows - 1) * cols + col];
  out[row * cols + col] = sum * kNinth;
}

static void launch(const float* in, float* out, std::size_t rows, std::size_t cols) {
  if (rows == 0 || cols == 0) return;
  const auto tiles_x = static_cast<unsigned>(ceil_div(cols, kTileX));
  const auto tiles_y = static_cast<unsigned>(ceil_div(rows, kTileY));
  float* sums = scratch<float>(rows * cols);
  blur_rows<<<tiles_x * tiles_y, dim3(kTileX, kTileY)>>>(in, sums, rows, cols, tiles_x);
  CUDA_CHECK(cudaGetLastError());
  blur_columns<<<tiles_x * tiles_y, dim3(kTileX, kTileY)>>>(sums, out, rows, cols, tiles_x);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Blur, launch);
