// bug: the row's sums are those of dy, not of g = dy gamma, so dx is right only where gamma is 1
// caught by: cpu forward | is wrong
// caught by: cpu-asan forward | is wrong
// caught by: gpu | is wrong
// stage: right
#include "../layer_norm_grad.cuh"

constexpr int kBlock = 256;

__device__ static float warp_sum(float v) {
#pragma unroll
  for (int mask = 16; mask > 0; mask /= 2) v += __shfl_xor_sync(0xffffffff, v, mask);
  return v;
}

// One warp per row.
__global__ void layer_norm_grad_sums_without_gamma_dx(const float* __restrict__ x, const float* __restrict__ dy,
                                                      const float* __restrict__ gamma, const float* __restrict__ mean,
                                                      const float* __restrict__ rstd, float* __restrict__ dx,
                                                      std::size_t rows, std::size_t cols) {
  const std::size_t row = (std::size_t{blockIdx.x} * kBlock + threadIdx.x) / 32;
  if (row >= rows) return;
  const float m = mean[row], s = rstd[row];
  x += row * cols;
  dy += row * cols;
  dx += row * cols;
  float sum_g = 0.0f, sum_gv = 0.0f;
  for (std::size_t c = threadIdx.x % 32; c < cols; c += 32) {
    sum_g += dy[c];
    sum_gv += dy[c] * ((x[c] - m) * s);
  }
  const float mean_g = warp_sum(sum_g) / cols, mean_gv = warp_sum(sum_gv) / cols;
  for (std::size_t c = threadIdx.x % 32; c < cols; c += 32) {
    dx[c] = s * (dy[c] * gamma[c] - mean_g - (x[c] - m) * s * mean_gv);
  }
}

// One thread per column of a slice of 256 rows.
__global__ void layer_norm_grad_sums_without_gamma_columns(const float* __restrict__ x, const float* __restrict__ dy,
                                                           const float* __restrict__ mean,
                                                           const float* __restrict__ rstd, float* __restrict__ dgamma,
                                                           float* __restrict__ dbeta, std::size_t rows,
                                                           std::size_t cols) {
  const std::size_t c = std::size_t{blockIdx.x} * kBlock + threadIdx.x;
  if (c >= cols) return;
  float of_gamma = 0.0f, of_beta = 0.0f;
  const std::size_t begin = std::size_t{blockIdx.y} * 256, end = min(begin + 256, rows);
  for (std::size_t r = begin; r < end; ++r) {
    of_gamma += dy[r * cols + c] * ((x[r * cols + c] - mean[r]) * rstd[r]);
    of_beta += dy[r * cols + c];
  }
  atomicAdd(dgamma + c, of_gamma);
  atomicAdd(dbeta + c, of_beta);
}

static void launch(const float* x, const float* dy, const float* gamma, const float* mean, const float* rstd, float* dx,
                   float* dgamma, float* dbeta, std::size_t rows, std::size_t cols) {
  if (cols == 0) return;
  CUDA_CHECK(cudaMemsetAsync(dgamma, 0, cols * sizeof(float)));
  CUDA_CHECK(cudaMemsetAsync(dbeta, 0, cols * sizeof(float)));
  if (rows == 0) return;
  layer_norm_grad_sums_without_gamma_dx<<<static_cast<unsigned>(ceil_div(rows, kBlock / 32)), kBlock>>>(
      x, dy, gamma, mean, rstd, dx, rows, cols);
  CUDA_CHECK(cudaGetLastError());
  const dim3 grid(static_cast<unsigned>(ceil_div(cols, kBlock)), static_cast<unsigned>(ceil_div(rows, 256)));
  layer_norm_grad_sums_without_gamma_columns<<<grid, kBlock>>>(x, dy, mean, rstd, dgamma, dbeta, rows, cols);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(LayerNormGrad, launch);
