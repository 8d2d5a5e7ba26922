// C = alpha A B + beta C for k up to 8: writing C is most of the work.
#pragma once
#include "gemm.cuh"

// Thread t of a block has columns t % width, t % width + width and so on of a tile of kColumns * width columns, with
// their k elements of B in registers, and every (blockDim.x / width)-th row of the block's `rows`; kRows rows at a time.
// kMaxK: k is at most that.
template <typename T, int kMaxK, int kColumns>
__global__ void __launch_bounds__(256)
    gemm_small_k(long long M, long long N, int K, float alpha, const T* __restrict__ A, long long lda,
                 const T* __restrict__ B, long long ldb, float beta, T* __restrict__ C, long long ldc, unsigned tiles_n,
                 int width, int rows) {
  constexpr int kRows = kMaxK * kColumns > 16 ? 2 : 4;
  const int row_step = blockDim.x / width, first_row = threadIdx.x / width;
  const long long col = static_cast<long long>(blockIdx.x % tiles_n) * kColumns * width + threadIdx.x % width;
  if (first_row >= row_step || col >= N) return;
  float b[kColumns][kMaxK];
#pragma unroll
  for (int c = 0; c < kColumns; ++c) {
#pragma unroll
    for (int l = 0; l < kMaxK; ++l) {
      b[c][l] = l < K && col + c * width < N ? static_cast<float>(B[l * ldb + col + c * width]) : 0.0f;
    }
  }
  const long long row0 = static_cast<long long>(blockIdx.x / tiles_n) * rows;
  const long long end = min(row0 + rows, M);
  for (long long row = row0 + first_row; row < end; row += kRows * row_step) {
    T a[kRows][kMaxK];  // as they are: a conversion on the same condition would be waited for at once
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const T* from = A + min(row + r * row_step, M - 1) * lda;
#pragma unroll
      for (int l = 0; l < kMaxK; ++l) a[r][l] = l < K ? from[l] : T(0.0f);
    }
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      if (row + r * row_step >= end) return;
#pragma unroll
      for (int c = 0; c < kColumns; ++c) {
        if (col + c * width >= N) break;
        float sum = 0.0f;
#pragma unroll
        for (int l = 0; l < kMaxK; ++l) sum += static_cast<float>(a[r][l]) * b[c][l];
        T& to = C[(row + r * row_step) * ldc + col + c * width];
        to = T(beta == 0.0f ? alpha * sum : alpha * sum + beta * static_cast<float>(to));
      }
    }
  }
}
