// Step 04 takes 9 loads from the tile per pixel. Idea: separable, as in step 03, but within the tile: a second array in
// shared memory for the sums along the rows, 3 loads and 1 store per pixel of 10 rows, a barrier, then 3 loads down.
// The sums may not be written back into the tile: a neighbour may not have read the pixel yet.
// Expect: little either way. 9 loads became 7.5 accesses and one more barrier; with a window of 9 x 9 it would be
// 81 against 23.
// Next question: each sum along a row is used by three pixels, one below the other. Who could keep it in a register?
#include "blur.cuh"

constexpr int kTileX = 32, kTileY = 8;
constexpr int kHalo = kWindow - 1;
constexpr int kLoadX = kTileX + kHalo, kLoadY = kTileY + kHalo;

__global__ void blur_separable_tile(const float* __restrict__ in, float* __restrict__ out, long long rows,
                                    long long cols, unsigned tiles_x) {
  __shared__ float tile[kLoadY][kLoadX];
  __shared__ float sums[kLoadY][kTileX];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const long long row0 = static_cast<long long>(blockIdx.x / tiles_x) * kTileY;
  const long long col0 = static_cast<long long>(blockIdx.x % tiles_x) * kTileX;
  for (int i = ty * kTileX + tx; i < kLoadX * kLoadY; i += kTileX * kTileY) {
    const int x = i % kLoadX, y = i / kLoadX;
    tile[y][x] = in[min(row0 + y, rows - 1) * cols + min(col0 + x, cols - 1)];
  }
  __syncthreads();
  for (int y = ty; y < kLoadY; y += kTileY) sums[y][tx] = tile[y][tx] + tile[y][tx + 1] + tile[y][tx + 2];
  __syncthreads();
  if (row0 + ty >= rows || col0 + tx >= cols) return;
  const float sum = sums[ty][tx] + sums[ty + 1][tx] + sums[ty + 2][tx];
  out[(row0 + ty) * cols + col0 + tx] = sum * kNinth;
}

static void launch(const float* in, float* out, std::size_t rows, std::size_t cols) {
  if (rows == 0 || cols == 0) return;
  const auto tiles_x = static_cast<unsigned>(ceil_div(cols, kTileX));
  const auto tiles_y = static_cast<unsigned>(ceil_div(rows, kTileY));
  blur_separable_tile<<<tiles_x * tiles_y, dim3(kTileX, kTileY)>>>(in, out, rows, cols, tiles_x);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Blur, launch);
