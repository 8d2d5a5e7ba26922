// Step 02 tests bounds and computes an address for every tap, some 10 instructions around each fma. Idea: a tile in
// shared memory with a halo of k / 2 on all sides. What lies outside the image is stored there as 0, once, so the inner
// loop has neither test nor 64-bit address: a load at a fixed offset and an fma.
// Expect: not much. Two instructions per tap remain, but a thread has one pixel, for which it fills 1.7 of the tile's
// at k = 5, with all the tests that the loop has lost. That is not for the memory's sake: L1 had the image.
// Next question: now each fma waits for a load from shared memory. How to get more than one fma out of a load?
#include "conv2d.cuh"

constexpr int kTileX = 32, kTileY = 8;

static __constant__ float conv2d_tile_w[kMostTaps];

template <int K>
__global__ void conv2d_shared_tile(const float* __restrict__ in, float* __restrict__ out, long long rows,
                                   long long cols, unsigned tiles_x) {
  constexpr int load_x = kTileX + K - 1, load_y = kTileY + K - 1;
  __shared__ float tile[load_y][load_x];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const long long row0 = static_cast<long long>(blockIdx.x / tiles_x) * kTileY;
  const long long col0 = static_cast<long long>(blockIdx.x % tiles_x) * kTileX;
  for (int i = ty * kTileX + tx; i < load_x * load_y; i += kTileX * kTileY) {
    const int x = i % load_x, y = i / load_x;
    const long long r = row0 + y - K / 2, c = col0 + x - K / 2;
    const bool inside = r >= 0 && r < rows && c >= 0 && c < cols;
    tile[y][x] = inside ? in[r * cols + c] : 0.0f;
  }
  __syncthreads();
  if (row0 + ty >= rows || col0 + tx >= cols) return;
  float sum = 0;
#pragma unroll
  for (int i = 0; i < K; ++i) {
#pragma unroll
    for (int j = 0; j < K; ++j) sum += conv2d_tile_w[i * K + j] * tile[ty + i][tx + j];
  }
  out[(row0 + ty) * cols + col0 + tx] = sum;
}

static void launch(const float* in, const float* w, float* out, std::size_t rows, std::size_t cols, int k) {
  if (rows == 0 || cols == 0) return;
  const auto tiles_x = static_cast<unsigned>(ceil_div(cols, kTileX));
  const auto tiles_y = static_cast<unsigned>(ceil_div(rows, kTileY));
  const auto kernel = k == 3 ? conv2d_shared_tile<3> : k == 5 ? conv2d_shared_tile<5> : conv2d_shared_tile<7>;
  CUDA_CHECK(cudaMemcpyToSymbol(conv2d_tile_w, w, k * k * sizeof(float), 0, cudaMemcpyDeviceToDevice));
  kernel<<<tiles_x * tiles_y, dim3(kTileX, kTileY)>>>(in, out, rows, cols, tiles_x);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Conv2d, launch);
