// Step 03 sends its sums through memory. The textbook's way is to bring a tile into shared memory, once, and take all 9
// loads from there. Idea: a tile of 32 x 8 pixels needs 34 x 10: a halo of two columns on the right and two rows below,
// 1.33 times the pixels. The threads number the tile's pixels through and take every 256th, so it does not matter where
// the halo is; indices are clamped at the image's edge, not at the tile's.
// Expect: a loss against step 02. L1 served the same loads from the same memory, without a barrier, and without the
// instructions that fill a tile.
// Next question: which threads may leave early? (None before the barrier.)
#include "blur.cuh"

constexpr int kTileX = 32, kTileY = 8;
constexpr int kHalo = kWindow - 1;  // to the right and below
constexpr int kLoadX = kTileX + kHalo, kLoadY = kTileY + kHalo;

__global__ void blur_shared_tile(const float* __restrict__ in, float* __restrict__ out, long long rows, long long cols,
                                 unsigned tiles_x) {
  __shared__ float tile[kLoadY][kLoadX];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const long long row0 = static_cast<long long>(blockIdx.x / tiles_x) * kTileY;
  const long long col0 = static_cast<long long>(blockIdx.x % tiles_x) * kTileX;
  for (int i = ty * kTileX + tx; i < kLoadX * kLoadY; i += kTileX * kTileY) {
    const int x = i % kLoadX, y = i / kLoadX;
    tile[y][x] = in[min(row0 + y, rows - 1) * cols + min(col0 + x, cols - 1)];
  }
  __syncthreads();
  if (row0 + ty >= rows || col0 + tx >= cols) return;
  float sum = 0;
#pragma unroll
  for (int i = 0; i < kWindow; ++i) {
#pragma unroll
    for (int j = 0; j < kWindow; ++j) sum += tile[ty + i][tx + j];
  }
  out[(row0 + ty) * cols + col0 + tx] = sum * kNinth;
}

static void launch(const float* in, float* out, std::size_t rows, std::size_t cols) {
  if (rows == 0 || cols == 0) return;
  const auto tiles_x = static_cast<unsigned>(ceil_div(cols, kTileX));
  const auto tiles_y = static_cast<unsigned>(ceil_div(rows, kTileY));
  blur_shared_tile<<<tiles_x * tiles_y, dim3(kTileX, kTileY)>>>(in, out, rows, cols, tiles_x);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Blur, launch);
