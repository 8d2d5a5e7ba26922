#include <cuda_runtime.h>

#include <cstdint>
#include <cstring>

// Say: e4m3 is a sign, 4 bits of exponent, 3 of mantissa. Its fields, shifted up by 20 bits, are a float's, too small
// by 2^120, subnormals included. There is no infinity, and NaN has all 7 bits set.
// Say: convert once per tile, when it goes to shared memory, not once per product.
// Say: products of two e4m3 numbers have 8 bits, so FP32 multiplies them exactly and only additions round. An FP8
// tensor core keeps 14 bits of its sum on Hopper.
// Next: a sum per 128 of k, scaled and added in FP32 (gemm_fp8_blocks_01); mma.sync, wgmma for the inner sum (02, 03).
__device__ float from_e4m3_bits(unsigned bits) {
  return __uint_as_float((bits & 128) << 24 | ((bits & 127) == 127 ? 0x7fc00000 : (bits & 127) << 20)) * 0x1p120f;
}

__global__ void gemm_fp8(const uint8_t* A, const uint8_t* B, const float* a_scale, const float* b_scale, float* C,
                         size_t m, size_t n, size_t k, size_t tiles_n) {
  __shared__ float As[16][17], Bs[16][17];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const size_t row = blockIdx.x / tiles_n * 16 + ty, col0 = blockIdx.x % tiles_n * 16, col = col0 + tx;
  float sum = 0;
  for (size_t k0 = 0; k0 < k; k0 += 16) {
    As[ty][tx] = row < m && k0 + tx < k ? from_e4m3_bits(A[row * k + k0 + tx]) : 0;
    Bs[ty][tx] = col0 + ty < n && k0 + tx < k ? from_e4m3_bits(B[(col0 + ty) * k + k0 + tx]) : 0;
    __syncthreads();  // the tiles are complete
    for (int l = 0; l < 16; ++l) sum += As[ty][l] * Bs[tx][l];
    __syncthreads();  // all threads have read them
  }
  if (row < m && col < n) C[row * n + col] = sum * (*a_scale * *b_scale);
}

cudaError_t launch(const uint8_t* A, const uint8_t* B, const float* a_scale, const float* b_scale, float* C, size_t m,
                   size_t n, size_t k) {
  if (m == 0 || n == 0) return cudaSuccess;  // a grid of 0 blocks is an error
  const size_t tiles_n = (n + 15) / 16;
  gemm_fp8<<<unsigned((m + 15) / 16 * tiles_n), dim3(16, 16)>>>(A, B, a_scale, b_scale, C, m, n, k, tiles_n);
  return cudaGetLastError();
}

// The answer ends here; the rest is for the checks.
#include "gemm_fp8.cuh"
#include "whiteboard.cuh"
LADDER_STEP(GemmFp8, checked<launch>);
