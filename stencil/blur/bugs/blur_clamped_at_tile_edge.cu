// bug: no halo; indices are clamped at the tile's edge, which is right only if the image ends there too
// caught by: cpu forward | is wrong | --rows=9 --cols=33
// caught by: gpu | is wrong | --rows=9 --cols=33
// stage: right
#include "../blur.cuh"

constexpr int kTileX = 32, kTileY = 8;

__global__ void blur_clamped_at_tile_edge(const float* __restrict__ in, float* __restrict__ out, long long rows,
                                          long long cols, unsigned tiles_x) {
  __shared__ float tile[kTileY][kTileX];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const long long row = std::int64_t{blockIdx.x / tiles_x} * kTileY + ty;
  const long long col = std::int64_t{blockIdx.x % tiles_x} * kTileX + tx;
  tile[ty][tx] = in[min(row, rows - 1) * cols + min(col, cols - 1)];
  __syncthreads();
  if (row >= rows || col >= cols) return;
  float sum = 0;
  for (int i = 0; i < kWindow; ++i) {
    for (int j = 0; j < kWindow; ++j) sum += tile[min(ty + i, kTileY - 1)][min(tx + j, kTileX - 1)];
  }
  out[row * cols + col] = sum * kNinth;
}

static void launch(const float* in, float* out, std::size_t rows, std::size_t cols) {
  if (rows == 0 || cols == 0) return;
  const auto tiles_x = static_cast<unsigned>(ceil_div(cols, kTileX));
  const auto tiles_y = static_cast<unsigned>(ceil_div(rows, kTileY));
  blur_clamped_at_tile_edge<<<tiles_x * tiles_y, dim3(kTileX, kTileY)>>>(in, out, rows, cols, tiles_x);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Blur, launch);
