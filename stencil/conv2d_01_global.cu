// The first answer: a thread per pixel, image and weights from global memory, 2 k^2 loads for k^2 multiplications.
// Lanes want neighbours, so that L1 serves the image, and all lanes of a warp want the same weight. Outside the image
// there is 0; that needs a test per tap and no barrier of threads.
// Expect: instructions are the limit: two loads and a test of bounds around every fma.
// Next question: the weights are the same for all threads of the grid. Where should they be?
#include "conv2d.cuh"

constexpr int kTileX = 32, kTileY = 8;

// Tiles are numbered along the rows. A 2-D grid would end at 65535 of them downwards, the most for gridDim.y.
template <int K>
__global__ void conv2d_global(const float* __restrict__ in, const float* __restrict__ w, float* __restrict__ out,
                              long long rows, long long cols, unsigned tiles_x) {
  const long long row = static_cast<long long>(blockIdx.x / tiles_x) * kTileY + threadIdx.y;
  const long long col = static_cast<long long>(blockIdx.x % tiles_x) * kTileX + threadIdx.x;
  if (row >= rows || col >= cols) return;
  float sum = 0;
#pragma unroll
  for (int i = 0; i < K; ++i) {
#pragma unroll
    for (int j = 0; j < K; ++j) {
      const long long r = row + i - K / 2, c = col + j - K / 2;
      const bool inside = r >= 0 && r < rows && c >= 0 && c < cols;
      sum += w[i * K + j] * (inside ? in[r * cols + c] : 0.0f);
    }
  }
  out[row * cols + col] = sum;
}

static void launch(const float* in, const float* w, float* out, std::size_t rows, std::size_t cols, int k) {
  if (rows == 0 || cols == 0) return;  // a grid of 0 blocks is an error
  const auto tiles_x = static_cast<unsigned>(ceil_div(cols, kTileX));
  const auto tiles_y = static_cast<unsigned>(ceil_div(rows, kTileY));
  const auto kernel = k == 3 ? conv2d_global<3> : k == 5 ? conv2d_global<5> : conv2d_global<7>;
  kernel<<<tiles_x * tiles_y, dim3(kTileX, kTileY)>>>(in, w, out, rows, cols, tiles_x);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Conv2d, launch);
