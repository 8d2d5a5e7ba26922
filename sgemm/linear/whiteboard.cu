#include <cuda_bf16.h>
#include <cuda_runtime.h>

// Say: a layer stores W as n x k, a row of weights per output. So C = A W^T, and both operands have k along their rows:
// loads of both tiles are coalesced.
// Say: inputs are BF16, sums FP32; bias and GELU too, and C is rounded once.
// Say: GELU comes after the last tile, once per sum. The bias belongs to a column.
// Next: a thread with 8 x 8 sums, then tensor cores: mma.sync takes W's rows as they are (linear_02), wgmma from shared
// memory (linear_04).
using bf16 = __nv_bfloat16;

__global__ void linear(const bf16* __restrict__ A, const bf16* __restrict__ W, const bf16* __restrict__ bias,
                       bf16* __restrict__ C, size_t m, size_t n, size_t k) {
  __shared__ float As[32][32], Ws[32][33];  // Say: lanes read a column of Ws, and 33 spreads it over the banks
  const unsigned tx = threadIdx.x, ty = threadIdx.y, tiles_n = unsigned((n + 31) / 32);
  const size_t row0 = size_t{blockIdx.x / tiles_n} * 32, col0 = size_t{blockIdx.x % tiles_n} * 32;
  const size_t row = row0 + ty, col = col0 + tx;
  float sum = 0;
  for (size_t k0 = 0; k0 < k; k0 += 32) {
    As[ty][tx] = row < m && k0 + tx < k ? float(A[row * k + k0 + tx]) : 0.0f;  // Say: zeros past the edges
    Ws[ty][tx] = col0 + ty < n && k0 + tx < k ? float(W[(col0 + ty) * k + k0 + tx]) : 0.0f;
    __syncthreads();
    for (int l = 0; l < 32; ++l) sum += As[ty][l] * Ws[tx][l];
    __syncthreads();
  }
  if (row >= m || col >= n) return;
  const float z = sum + float(bias[col]);
  C[row * n + col] = bf16(0.5f * z * (1 + tanhf(0.797884561f * (z + 0.044715f * z * z * z))));
}

cudaError_t launch(const bf16* A, const bf16* W, const bf16* bias, bf16* C, size_t m, size_t n, size_t k) {
  if (m == 0 || n == 0) return cudaSuccess;  // a grid of 0 blocks is an error
  linear<<<unsigned((m + 31) / 32 * ((n + 31) / 32)), dim3(32, 32)>>>(A, W, bias, C, m, n, k);
  return cudaGetLastError();
}

// The answer ends here; the rest is for the checks.
#include "linear.cuh"
#include "whiteboard.cuh"
LADDER_STEP(Linear, checked<launch>);
