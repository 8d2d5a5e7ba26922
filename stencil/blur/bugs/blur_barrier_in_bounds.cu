// bug: the barrier is inside the bounds test, so in a tile at the image's edge some threads never reach it
// caught by: cpu forward | some threads returned while others wait at a barrier
// caught by: gpu | is wrong
// stage: right
#include "../blur.cuh"

constexpr int kTileX = 32, kTileY = 8;
constexpr int kLoadX = kTileX + kWindow - 1, kLoadY = kTileY + kWindow - 1;

__global__ void blur_barrier_in_bounds(const float* __restrict__ in, float* __restrict__ out, long long rows,
                                       long long cols, unsigned tiles_x) {
  __shared__ float tile[kLoadY][kLoadX];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const long long row0 = std::int64_t{blockIdx.x / tiles_x} * kTileY;
  const long long col0 = std::int64_t{blockIdx.x % tiles_x} * kTileX;
  if (row0 + ty < rows && col0 + tx < cols) {
    for (int y = ty; y < kLoadY; y += kTileY) {
      const float* from = in + min(row0 + y, rows - 1) * cols;
      for (int x = tx; x < kLoadX; x += kTileX) tile[y][x] = from[min(col0 + x, cols - 1)];
    }
    __syncthreads();  // and threads outside the image haven't loaded their part of the tile
    float sum = 0;
    for (int i = 0; i < kWindow; ++i) {
      for (int j = 0; j < kWindow; ++j) sum += tile[ty + i][tx + j];
    }
    out[(row0 + ty) * cols + col0 + tx] = sum * kNinth;
  }
}

static void launch(const float* in, float* out, std::size_t rows, std::size_t cols) {
  if (rows == 0 || cols == 0) return;
  const auto tiles_x = static_cast<unsigned>(ceil_div(cols, kTileX));
  const auto tiles_y = static_cast<unsigned>(ceil_div(rows, kTileY));
  blur_barrier_in_bounds<<<tiles_x * tiles_y, dim3(kTileX, kTileY)>>>(in, out, rows, cols, tiles_x);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Blur, launch);
