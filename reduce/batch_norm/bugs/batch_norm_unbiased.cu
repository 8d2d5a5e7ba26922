// bug: the squares are divided by count - 1, as for the running variance; the normalisation needs count
// caught by: cpu forward | is wrong
// caught by: cpu-asan forward | is wrong
// caught by: gpu | is wrong
// stage: right
#include "../batch_norm.cuh"

constexpr int kBlock = 256;

// Returns the sum over the block to all threads. All threads must call it.
__device__ static float block_sum(float v) {
  __shared__ float warps[kBlock / 32];
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int mask = 16; mask > 0; mask /= 2) v += __shfl_xor_sync(0xffffffff, v, mask);
  __syncthreads();
  if (lane == 0) warps[threadIdx.x / 32] = v;
  __syncthreads();
  v = warps[lane % (kBlock / 32)];
#pragma unroll
  for (int mask = kBlock / 64; mask > 0; mask /= 2) v += __shfl_xor_sync(0xffffffff, v, mask);
  return v;
}

__global__ void batch_norm_unbiased(const float* __restrict__ x, const float* __restrict__ gamma,
                                    const float* __restrict__ beta, float* __restrict__ y, float* __restrict__ mean,
                                    float* __restrict__ rstd, std::size_t n, std::size_t hw, float epsilon) {
  const std::size_t channel = blockIdx.x, image = gridDim.x * hw;
  const float count = static_cast<float>(n * hw);
  x += channel * hw;
  y += channel * hw;
  float sum = 0.0f, squares = 0.0f;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t p = threadIdx.x; p < hw; p += kBlock) {
      sum += x[i * image + p];
    }
  }
  const float m = block_sum(sum) / count;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t p = threadIdx.x; p < hw; p += kBlock) squares += (x[i * image + p] - m) * (x[i * image + p] - m);
  }
  const float factor = rsqrtf(block_sum(squares) / (count - 1.0f) + epsilon);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t p = threadIdx.x; p < hw; p += kBlock) {
      y[i * image + p] = (x[i * image + p] - m) * factor * gamma[channel] + beta[channel];
    }
  }
  if (threadIdx.x == 0) mean[channel] = m, rstd[channel] = factor;
}

static void launch(const float* x, const float* gamma, const float* beta, float* y, float* mean, float* rstd,
                   std::size_t n, std::size_t c, std::size_t hw, float epsilon) {
  if (c == 0) return;
  batch_norm_unbiased<<<static_cast<unsigned>(c), kBlock>>>(x, gamma, beta, y, mean, rstd, n, hw, epsilon);
  CUDA_CHECK(cudaGetLastError());
}

// A thread's additions, 5 levels of a warp's tree and 3 over the warps.
static std::size_t roundings(std::size_t n, std::size_t hw) {
  return BatchNorm::two_passes(n * ceil_div(hw, kBlock) + 8);
}

LADDER_STEP(BatchNorm, launch, roundings);
