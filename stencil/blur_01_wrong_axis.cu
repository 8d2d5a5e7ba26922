// The first answer, a thread per pixel, with a slip that whoever thinks in loops "for row, for column" makes:
// threadIdx.x is the row. Lanes are numbered along x first, so that the 32 lanes of a warp stand one below the other:
// each of its 9 loads touches 32 sectors of 32 bytes where 4 would do, and its store writes 4 bytes of each.
// Expect: a small part of a copy's speed.
// Next question: the answer is right and every access is in bounds. What would show the slip? (Sectors per request.)
#include "blur.cuh"

constexpr int kTileX = 32, kTileY = 8;

// Tiles are numbered along the rows. A 2-D grid would end at 65535 of them downwards, the most for gridDim.y.
__global__ void blur_wrong_axis(const float* __restrict__ in, float* __restrict__ out, long long rows, long long cols,
                                unsigned tiles_x) {
  const long long row = static_cast<long long>(blockIdx.x / tiles_x) * kTileX + threadIdx.x;
  const long long col = static_cast<long long>(blockIdx.x % tiles_x) * kTileY + threadIdx.y;
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
  const auto tiles_x = static_cast<unsigned>(ceil_div(cols, kTileY));
  const auto tiles_y = static_cast<unsigned>(ceil_div(rows, kTileX));
  blur_wrong_axis<<<tiles_x * tiles_y, dim3(kTileX, kTileY)>>>(in, out, rows, cols, tiles_x);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Blur, launch);
