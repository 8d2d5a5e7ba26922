#include <cuda_runtime.h>

// Say: with g = dy gamma and x^ = (x - mean) rstd, dx = rstd (g - mean(g) - x^ mean(g x^)): two sums over the row,
// because mean and variance depend on every x. dgamma and dbeta are sums over the rows, so they get another kernel.
// Say: dx: one warp per row, xor shuffles, no barrier. dgamma, dbeta: a block of 32 x 16 threads for 32 columns. A warp
// reads 32 neighbouring floats of a row, and 16 warps share the rows.
// Next: x and dy are read three times. Fused: a block takes whole rows and keeps column sums; another kernel adds the
// blocks' sums (03 to 05).
__global__ void grad_x(const float* x, const float* dy, const float* gamma, const float* mean, const float* rstd,
                       float* dx, size_t rows, size_t cols) {
  const size_t row = (size_t{blockIdx.x} * blockDim.x + threadIdx.x) / 32, first = row * cols + threadIdx.x % 32;
  if (row >= rows) return;  // a whole warp; no barrier follows
  float g = 0.0f, gv = 0.0f;
  for (size_t i = first, c = threadIdx.x % 32; c < cols; c += 32, i += 32) {
    g += dy[i] * gamma[c], gv += dy[i] * gamma[c] * (x[i] - mean[row]) * rstd[row];
  }
  for (int mask = 16; mask > 0; mask /= 2) {
    g += __shfl_xor_sync(0xffffffff, g, mask), gv += __shfl_xor_sync(0xffffffff, gv, mask);
  }
  for (size_t i = first, c = threadIdx.x % 32; c < cols; c += 32, i += 32) {
    dx[i] = rstd[row] * (dy[i] * gamma[c] - g / cols - (x[i] - mean[row]) * rstd[row] * (gv / cols));
  }
}

__global__ void grad_gamma_beta(const float* x, const float* dy, const float* mean, const float* rstd, float* dgamma,
                                float* dbeta, size_t rows, size_t cols) {
  __shared__ float2 sums[16][32];
  const size_t c = blockIdx.x * size_t{32} + threadIdx.x;
  float2 sum = {0.0f, 0.0f};
  for (size_t r = threadIdx.y; r < rows && c < cols; r += 16) {
    sum.x += dy[r * cols + c] * ((x[r * cols + c] - mean[r]) * rstd[r]), sum.y += dy[r * cols + c];
  }
  sums[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();  // Say: no thread has returned yet
  if (threadIdx.y > 0 || c >= cols) return;
  for (int y = 1; y < 16; ++y) sum.x += sums[y][threadIdx.x].x, sum.y += sums[y][threadIdx.x].y;
  dgamma[c] = sum.x, dbeta[c] = sum.y;
}

cudaError_t launch(const float* x, const float* dy, const float* gamma, const float* mean, const float* rstd, float* dx,
                   float* dgamma, float* dbeta, size_t rows, size_t cols) {
  if (cols == 0) return cudaSuccess;  // a grid of 0 blocks is an error
  if (rows > 0) grad_x<<<(rows + 7) / 8, 256>>>(x, dy, gamma, mean, rstd, dx, rows, cols);
  const cudaError_t error = cudaGetLastError();
  if (error != cudaSuccess) return error;
  grad_gamma_beta<<<(cols + 31) / 32, dim3(32, 16)>>>(x, dy, mean, rstd, dgamma, dbeta, rows, cols);
  return cudaGetLastError();
}

// The answer ends here; the rest is for the checks.
#include "layer_norm_grad.cuh"
#include "whiteboard.cuh"

// A lane's additions and 5 levels of tree.
static std::size_t height(std::size_t cols) { return ceil_div(cols, 32) + 5; }

LADDER_STEP(LayerNormGrad, checked<launch>, height);
