// Problem:  dx needs two sums over its row, dgamma and dbeta sums over each column. x and dy must be read, dx written.
// Idea:     one kernel per direction. One block per row sums g and g x^, then writes dx; one thread per column adds all
//           rows.
// Expect:   0.01 to 0.05 of a copy at 16384x4096: the second kernel has 4096 threads, of the 270,000 that 132 SMs hold,
//           and each adds 16384 rows. At one memory latency per row, about 0.5 us, that takes 8 ms.
// Measured: 0.02 of a copy at 16384x4096 (H200).
// Next:     the column sums read fully coalesced rows. Where do more threads come from?
#include "layer_norm_grad.cuh"

constexpr int kBlock = 256, kWarps = kBlock / 32;

// Returns both sums over the block to all threads. All threads must call it.
__device__ static float2 block_sums(float2 v) {
  __shared__ float2 warps[kWarps];
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int mask = 16; mask > 0; mask /= 2) {
    v = {v.x + __shfl_xor_sync(0xffffffff, v.x, mask), v.y + __shfl_xor_sync(0xffffffff, v.y, mask)};
  }
  if (lane == 0) warps[threadIdx.x / 32] = v;
  __syncthreads();
  v = warps[lane % kWarps];
#pragma unroll
  for (int mask = kWarps / 2; mask > 0; mask /= 2) {
    v = {v.x + __shfl_xor_sync(0xffffffff, v.x, mask), v.y + __shfl_xor_sync(0xffffffff, v.y, mask)};
  }
  return v;
}

__global__ void layer_norm_grad_two_kernels_dx(const float* __restrict__ x, const float* __restrict__ dy,
                                               const float* __restrict__ gamma, const float* __restrict__ mean,
                                               const float* __restrict__ rstd, float* __restrict__ dx,
                                               std::size_t cols) {
  const float m = mean[blockIdx.x], s = rstd[blockIdx.x];
  x += blockIdx.x * cols;
  dy += blockIdx.x * cols;
  dx += blockIdx.x * cols;
  float2 sums = {0.0f, 0.0f};  // of g, and of g x^
  for (std::size_t c = threadIdx.x; c < cols; c += kBlock) {
    const float g = dy[c] * gamma[c];
    sums = {sums.x + g, sums.y + g * ((x[c] - m) * s)};
  }
  sums = block_sums(sums);
  const float mean_g = sums.x / cols, mean_gv = sums.y / cols;
  for (std::size_t c = threadIdx.x; c < cols; c += kBlock) {
    dx[c] = s * (dy[c] * gamma[c] - mean_g - (x[c] - m) * s * mean_gv);
  }
}

__global__ void layer_norm_grad_two_kernels_columns(const float* __restrict__ x, const float* __restrict__ dy,
                                                    const float* __restrict__ mean, const float* __restrict__ rstd,
                                                    float* __restrict__ dgamma, float* __restrict__ dbeta,
                                                    std::size_t rows, std::size_t cols) {
  const std::size_t c = std::size_t{blockIdx.x} * kBlock + threadIdx.x;
  if (c >= cols) return;
  float2 sums = {0.0f, 0.0f};  // of dy x^, and of dy
  for (std::size_t r = 0; r < rows; ++r) {
    const float d = dy[r * cols + c];
    sums = {sums.x + d * ((x[r * cols + c] - mean[r]) * rstd[r]), sums.y + d};
  }
  dgamma[c] = sums.x;
  dbeta[c] = sums.y;
}

static void launch(const float* x, const float* dy, const float* gamma, const float* mean, const float* rstd, float* dx,
                   float* dgamma, float* dbeta, std::size_t rows, std::size_t cols) {
  if (cols == 0) return;  // a grid of 0 blocks is an error
  if (rows > 0) {
    layer_norm_grad_two_kernels_dx<<<static_cast<unsigned>(rows), kBlock>>>(x, dy, gamma, mean, rstd, dx, cols);
    CUDA_CHECK(cudaGetLastError());
  }
  const auto blocks = static_cast<unsigned>(ceil_div(cols, kBlock));
  layer_norm_grad_two_kernels_columns<<<blocks, kBlock>>>(x, dy, mean, rstd, dgamma, dbeta, rows, cols);
  CUDA_CHECK(cudaGetLastError());
}

// A thread's additions, 5 levels of a warp's tree and 3 over the warps.
static std::size_t height(std::size_t cols) { return ceil_div(cols, kBlock) + 8; }

LADDER_STEP(LayerNormGrad, launch, height);
