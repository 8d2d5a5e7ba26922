// Step 01 loads a weight for every product. Idea: weights in constant memory, from where an fma takes its operand
// directly if the whole warp wants the same one: no load, no register. That needs an address known at compile time, so
// the loops over the taps are unrolled, and k is a template parameter.
// Expect: a good part of step 01's time, most at k = 7; the copy into the symbol costs 2 or 3 us per call.
// Next question: what is left per tap? (A load, its address, the test of bounds.)
#include "conv2d.cuh"

constexpr int kTileX = 32, kTileY = 8;

static __constant__ float conv2d_w[kMostTaps];

template <int K>
__global__ void conv2d_constant(const float* __restrict__ in, float* __restrict__ out, long long rows, long long cols,
                                unsigned tiles_x) {
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
      sum += conv2d_w[i * K + j] * (inside ? in[r * cols + c] : 0.0f);
    }
  }
  out[row * cols + col] = sum;
}

static void launch(const float* in, const float* w, float* out, std::size_t rows, std::size_t cols, int k) {
  if (rows == 0 || cols == 0) return;
  const auto tiles_x = static_cast<unsigned>(ceil_div(cols, kTileX));
  const auto tiles_y = static_cast<unsigned>(ceil_div(rows, kTileY));
  const auto kernel = k == 3 ? conv2d_constant<3> : k == 5 ? conv2d_constant<5> : conv2d_constant<7>;
  CUDA_CHECK(cudaMemcpyToSymbol(conv2d_w, w, k * k * sizeof(float), 0, cudaMemcpyDeviceToDevice));
  kernel<<<tiles_x * tiles_y, dim3(kTileX, kTileY)>>>(in, out, rows, cols, tiles_x);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Conv2d, launch);
