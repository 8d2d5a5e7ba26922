// Problem:  a K x K filter has 2 K^2 FLOP for 8 bytes to and from DRAM. At K = 7 that is 12 FLOP per byte; the
//           cards can do 14 (H200) and 20 (H100), so memory bandwidth is the limit.
// Idea:     one thread per pixel; image and weights from global memory; a bounds test per tap.
// Expect:   at most 0.30 of a copy at K = 5 (H200): 8 to 11 instructions per tap (SASS) use all issue slots.
// Measured: 0.25 of a copy at 8192x8192x5 (H200); 0.34 (H100).
// Next:     the weights are the same for all threads of the grid. Where should they be?
#include "conv2d.cuh"

constexpr int kTileX = 32, kTileY = 8;

template <int K>
__global__ void conv2d_global(const float* __restrict__ in, const float* __restrict__ w, float* __restrict__ out,
                              long long rows, long long cols) {
  const long long row = blockIdx.y * kTileY + threadIdx.y;
  const long long col = blockIdx.x * kTileX + threadIdx.x;
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
  const auto kernel = k == 3 ? conv2d_global<3> : k == 5 ? conv2d_global<5> : conv2d_global<7>;
  const dim3 block(kTileX, kTileY), grid(ceil_div(cols, kTileX), ceil_div(rows, kTileY));
  kernel<<<grid, block>>>(in, w, out, rows, cols);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Conv2d, launch, "rows", kTileY);
