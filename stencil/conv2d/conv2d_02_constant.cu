// Problem:  every second load of step 01 fetches a weight, the same for all threads.
// Idea:     weights in constant memory: all lanes use one address. On sm_80 an FFMA takes it as an operand if it is
//           known at compile time, so loops are unrolled. On sm_90 nvcc loads it into a uniform register (ULDC).
// Expect:   1.3 to 1.5x step 01: half of the loads disappear. Small images pay 2 to 3 us for the copy into the symbol.
// Measured: 1.05x step 01, 0.26 of a copy at 8192x8192x5 (H200); 1.05x, 0.36 (H100).
// Why:      step 01's weights hit L1; bounds tests and addresses remain: 218 instructions per pixel in both at K = 5.
// Next:     how do you drop the bounds test and the address of every tap?
#include "conv2d.cuh"

constexpr int kTileX = 32, kTileY = 8;

static __constant__ float conv2d_w[kMostTaps];

template <int K>
__global__ void conv2d_constant(const float* __restrict__ in, float* __restrict__ out, long long rows, long long cols) {
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
      sum += conv2d_w[i * K + j] * (inside ? in[r * cols + c] : 0.0f);
    }
  }
  out[row * cols + col] = sum;
}

static void launch(const float* in, const float* w, float* out, std::size_t rows, std::size_t cols, int k) {
  if (rows == 0 || cols == 0) return;
  const auto kernel = k == 3 ? conv2d_constant<3> : k == 5 ? conv2d_constant<5> : conv2d_constant<7>;
  const dim3 block(kTileX, kTileY), grid(ceil_div(cols, kTileX), ceil_div(rows, kTileY));
  CUDA_CHECK(cudaMemcpyToSymbol(conv2d_w, w, k * k * sizeof(float), 0, cudaMemcpyDeviceToDevice));
  kernel<<<grid, block>>>(in, out, rows, cols);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Conv2d, launch, "rows", kTileY);
