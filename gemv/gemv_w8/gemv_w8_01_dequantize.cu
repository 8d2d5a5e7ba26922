// Problem:  a layer of a language model has int8 weights, and the library's gemv takes floats.
// Idea:     two kernels: write the matrix as FP32, then multiply it with a warp per row, as in gemv_02.
// Expect:   0.1 to 0.2 of a read of W at 8192x8192: 1 byte read, 4 written, 4 read again are 9 per weight, not 1. More
//           than 1/9, since reading 69 MB is too short to reach the rate of these longer kernels; 1/9 at 128256x4096.
// Measured: 0.14 of a read at 8192x8192 (H200).
// Next:     why store the FP32 matrix at all?
#include "block_reduce.cuh"
#include "gemv_w8.cuh"

constexpr int kBlock = 256, kGroup = 128;

__global__ void gemv_w8_dequantize(const std::int8_t* __restrict__ W, const float* __restrict__ scales,
                                   float* __restrict__ floats, std::size_t k) {
  const std::size_t row = blockIdx.x, groups = ceil_div(k, kGroup);
  for (std::size_t j = threadIdx.x; j < k; j += kBlock) {
    floats[row * k + j] = scales[row * groups + j / kGroup] * W[row * k + j];
  }
}

__global__ void gemv_w8_multiply(const float* __restrict__ floats, const __nv_bfloat16* __restrict__ x,
                                 float* __restrict__ y, std::size_t n, std::size_t k) {
  const unsigned lane = threadIdx.x % 32;
  const std::size_t row = (std::size_t{blockIdx.x} * kBlock + threadIdx.x) / 32;
  if (row >= n) return;  // the whole warp returns, so no shuffle misses a lane
  float sum = 0.0f;
  for (std::size_t j = lane; j < k; j += 32) sum += floats[row * k + j] * __bfloat162float(x[j]);
  sum = warp_sum_to_lane_0(sum);
  if (lane == 0) y[row] = sum;
}

static void launch(const std::int8_t* W, const float* scales, const __nv_bfloat16* x, float* y, std::size_t n,
                   std::size_t k) {
  if (n == 0) return;  // a grid of 0 blocks is an error
  float* floats = scratch<float>(n * k);
  gemv_w8_dequantize<<<static_cast<unsigned>(n), kBlock>>>(W, scales, floats, k);
  CUDA_CHECK(cudaGetLastError());
  gemv_w8_multiply<<<static_cast<unsigned>(ceil_div(n, kBlock / 32)), kBlock>>>(floats, x, y, n, k);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(GemvW8, launch);
