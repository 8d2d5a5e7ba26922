#include <cuda_runtime.h>

#include <cstdint>

// Say: __dp4a multiplies the four signed bytes of two words and adds the products to an int32. It needs four
// consecutive k in a word, and both matrices have k contiguous.
// Say: int32 is exact. A product is at most 2^14, so sums fit while k < 2^17. FP32 would round from 2^24 on.
// Say: a row of 16 words per tile; the pitch of 17 puts 16 rows' words in different banks.
// Say: scales don't depend on k, so they multiply the finished sum, once per result.
// Next: 16 bytes per load, 4 x 4 results per thread (gemm_int8_01), int8 tensor cores (02), wgmma and TMA (03).
__global__ void gemm_int8(const int8_t* A, const int8_t* B, const float* rows, const float* columns, float* C, size_t m,
                          size_t n, size_t k, size_t tiles_n) {
  __shared__ int As[16][17], Bs[16][17];
  int tx = threadIdx.x, ty = threadIdx.y, sum = 0;
  const size_t row = blockIdx.x / tiles_n * 16 + ty, col0 = blockIdx.x % tiles_n * 16, col = col0 + tx;
  for (size_t k0 = 0; k0 < k; k0 += 64) {
    char4 a = {}, b = {};  // zeros past the edges add nothing
    for (size_t i = 0, l = k0 + 4 * tx; i < 4 && l + i < k; ++i) {
      if (row < m) ((int8_t*)&a)[i] = A[row * k + l + i];
      if (col0 + ty < n) ((int8_t*)&b)[i] = B[(col0 + ty) * k + l + i];
    }
    As[ty][tx] = *(int*)&a, Bs[ty][tx] = *(int*)&b;
    __syncthreads();  // the tiles are complete
    for (int w = 0; w < 16; ++w) sum = __dp4a(As[ty][w], Bs[tx][w], sum);
    __syncthreads();  // all threads have read them
  }
  if (row < m && col < n) C[row * n + col] = float(sum) * rows[row] * columns[col];
}

cudaError_t launch(const int8_t* A, const int8_t* B, const float* rows, const float* columns, float* C, size_t m,
                   size_t n, size_t k) {
  if (m == 0 || n == 0) return cudaSuccess;  // a grid of 0 blocks is an error
  const size_t tiles_n = (n + 15) / 16;
  gemm_int8<<<unsigned((m + 15) / 16 * tiles_n), dim3(16, 16)>>>(A, B, rows, columns, C, m, n, k, tiles_n);
  return cudaGetLastError();
}

// The answer ends here; the rest is for the checks.
#include "gemm_int8.cuh"
#include "whiteboard.cuh"
LADDER_STEP(GemmInt8, checked<launch>);
