// Problem:  mean and variance of a channel, which consists of n pieces of hw floats; then y. Bandwidth is the limit.
// Idea:     one block per channel, by the definition: a pass for the mean, one for the variance, one that writes y.
// Expect:   0.15 to 0.3 of a copy at 32x256x3136: three reads per write allow 0.5, and 256 blocks are two per SM, 16
//           warps of 64. Less at 256x2048x49, where only 49 of a block's 256 threads have a pixel.
// Measured: 0.35x cuDNN at 32x256x3136 (H200).
// Next:     which of the three reads can be saved without losing digits?
#include "batch_norm.cuh"

constexpr int kBlock = 256, kWarps = kBlock / 32;

// Returns the sum over the block to all threads. All threads must call it.
__device__ static float block_sum(float v) {
  __shared__ float warps[kWarps];
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int mask = 16; mask > 0; mask /= 2) v += __shfl_xor_sync(0xffffffff, v, mask);
  __syncthreads();  // all threads have read the previous call's sums
  if (lane == 0) warps[threadIdx.x / 32] = v;
  __syncthreads();
  v = warps[lane % kWarps];
#pragma unroll
  for (int mask = kWarps / 2; mask > 0; mask /= 2) v += __shfl_xor_sync(0xffffffff, v, mask);
  return v;
}

__global__ void batch_norm_two_passes(const float* __restrict__ x, const float* __restrict__ gamma,
                                      const float* __restrict__ beta, float* __restrict__ y, float* __restrict__ mean,
                                      float* __restrict__ rstd, std::size_t n, std::size_t hw, float epsilon) {
  const std::size_t channel = blockIdx.x, image = gridDim.x * hw;  // floats from one image to the next
  const float count = static_cast<float>(n * hw), g = gamma[channel], b = beta[channel];
  x += channel * hw;
  y += channel * hw;

  // mean
  float sum = 0.0f;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t p = threadIdx.x; p < hw; p += kBlock) sum += x[i * image + p];
  }
  const float m = block_sum(sum) / count;

  // variance
  float squares = 0.0f;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t p = threadIdx.x; p < hw; p += kBlock) squares += (x[i * image + p] - m) * (x[i * image + p] - m);
  }
  const float factor = rsqrtf(block_sum(squares) / count + epsilon);

  // scale, shift, store
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t p = threadIdx.x; p < hw; p += kBlock) y[i * image + p] = (x[i * image + p] - m) * factor * g + b;
  }
  if (threadIdx.x == 0) mean[channel] = m, rstd[channel] = factor;
}

static void launch(const float* x, const float* gamma, const float* beta, float* y, float* mean, float* rstd,
                   std::size_t n, std::size_t c, std::size_t hw, float epsilon) {
  if (c == 0) return;  // a grid of 0 blocks is an error
  batch_norm_two_passes<<<static_cast<unsigned>(c), kBlock>>>(x, gamma, beta, y, mean, rstd, n, hw, epsilon);
  CUDA_CHECK(cudaGetLastError());
}

// A thread's additions, 5 levels of a warp's tree and 3 over the warps.
static std::size_t roundings(std::size_t n, std::size_t hw) {
  return BatchNorm::two_passes(n * ceil_div(hw, kBlock) + 8);
}

LADDER_STEP(BatchNorm, launch, roundings);
