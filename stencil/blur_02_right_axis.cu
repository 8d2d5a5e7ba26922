// Step 01 has the lanes of a warp down a column. Idea: threadIdx.x is the column, and nothing else changes. A warp's
// loads are rows of 32 neighbours, 4 or 5 sectors each, and L1 answers eight of the nine.
// Expect: several times step 01; near a copy with 4-byte loads.
// Next question: each pixel is loaded 9 times. Is that what limits it now?
#include "blur.cuh"

constexpr int kTileX = 32, kTileY = 8;

__global__ void blur_right_axis(const float* __restrict__ in, float* __restrict__ out, long long rows, long long cols,
                                unsigned tiles_x) {
  const long long row = static_cast<long long>(blockIdx.x / tiles_x) * kTileY + threadIdx.y;
  const long long col = static_cast<long long>(blockIdx.x % tiles_x) * kTileX + threadIdx.x;
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
  const auto tiles_x = static_cast<unsigned>(ceil_div(cols, kTileX));
  const auto tiles_y = static_cast<unsigned>(ceil_div(rows, kTileY));
  blur_right_axis<<<tiles_x * tiles_y, dim3(kTileX, kTileY)>>>(in, out, rows, cols, tiles_x);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Blur, launch);
