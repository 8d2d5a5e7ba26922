// Problem:  step 02 tests bounds and computes a 64-bit address for every tap.
// Idea:     a tile in shared memory with a halo of K / 2 on all sides. Pixels outside the image are stored there as 0,
//           once. A tap is then a load at a fixed offset and an FFMA.
// Expect:   0.5 to 1.5x step 02, most at K = 7: 2 instructions per tap instead of 8 to 11. But a thread fills 1.3, 1.7,
//           2.1 tile elements per pixel at K = 3, 5, 7, with bounds tests.
// Measured: 1.07x step 02, 0.28 of a copy at 8192x8192x5 (H200); 1.05x, 0.38 (H100).
// Why:      0.70x, 1.07x, 1.42x step 02 at K = 3, 5, 7 (H200): a tap costs 6.5 us instead of 16: 25 taps pay for it.
// Next:     every FFMA now waits for a shared-memory load. How do you get more FFMA out of a load?
#include "conv2d.cuh"

constexpr int kTileX = 32, kTileY = 8;

static __constant__ float conv2d_tile_w[kMostTaps];

template <int K>
__global__ void conv2d_shared_tile(const float* __restrict__ in, float* __restrict__ out, long long rows,
                                   long long cols) {
  constexpr int kLoadX = kTileX + K - 1, kLoadY = kTileY + K - 1;
  __shared__ float tile[kLoadY][kLoadX];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const long long row0 = blockIdx.y * kTileY, col0 = blockIdx.x * kTileX;

  // load tile and halo, 0 outside the image
  for (int i = ty * kTileX + tx; i < kLoadX * kLoadY; i += kTileX * kTileY) {
    const int x = i % kLoadX, y = i / kLoadX;
    const long long r = row0 + y - K / 2, c = col0 + x - K / 2;
    const bool inside = r >= 0 && r < rows && c >= 0 && c < cols;
    tile[y][x] = inside ? in[r * cols + c] : 0.0f;
  }
  __syncthreads();
  if (row0 + ty >= rows || col0 + tx >= cols) return;

  // compute and store
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
  const auto kernel = k == 3 ? conv2d_shared_tile<3> : k == 5 ? conv2d_shared_tile<5> : conv2d_shared_tile<7>;
  const dim3 block(kTileX, kTileY), grid(ceil_div(cols, kTileX), ceil_div(rows, kTileY));
  CUDA_CHECK(cudaMemcpyToSymbol(conv2d_tile_w, w, k * k * sizeof(float), 0, cudaMemcpyDeviceToDevice));
  kernel<<<grid, block>>>(in, out, rows, cols);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Conv2d, launch, "rows", kTileY);
