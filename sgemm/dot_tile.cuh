// C of few elements and a long k: each thread takes every (slices * kThreads)-th product of each element of a tile.
#pragma once
#include "block_reduce.cuh"
#include "gemm.cuh"

constexpr int kDotThreads = 256;

// A tile of up to TM x TN elements of C per block, slice blockIdx.y of k; tiles share the rows evenly. The sums go to
// partials[(slice * M + row) * N + column]. The lanes of a warp have neighbouring k, so loads of A are coalesced.
template <typename T, int TM, int TN>
__global__ void __launch_bounds__(kDotThreads)
    gemm_dot_tile(long long M, long long N, long long K, const T* __restrict__ A, long long lda,
                  const T* __restrict__ B, long long ldb, unsigned tiles_m, unsigned tiles_n, long long slice,
                  float* __restrict__ partials) {
  constexpr int kUnroll = 4;
  const unsigned tile = blockIdx.x / tiles_n;
  const long long row0 = M * tile / tiles_m, col0 = static_cast<long long>(blockIdx.x % tiles_n) * TN;
  const int rows = static_cast<int>(M * (tile + 1) / tiles_m - row0);
  const int columns = static_cast<int>(min(N - col0, static_cast<long long>(TN)));
  const long long begin = blockIdx.y * slice, end = min(begin + slice, K);
  // Past its rows a tile has the last one again, and past the end of k a lane the last element: their sums and products
  // are dropped. A condition for each load of A would make loads wait for one another.
  const T* row[TM];
#pragma unroll
  for (int i = 0; i < TM; ++i) row[i] = A + (row0 + min(i, rows - 1)) * lda;
  B += col0;
  float acc[TM][TN] = {};
  long long k = begin + threadIdx.x;
  const auto add = [&](bool guarded) {
    T a[kUnroll][TM], b[kUnroll][TN];  // as they are: a conversion would wait for its load
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      const long long l = guarded ? min(k + u * kDotThreads, end - 1) : k + u * kDotThreads;
#pragma unroll
      for (int i = 0; i < TM; ++i) a[u][i] = row[i][l];
#pragma unroll
      for (int j = 0; j < TN; ++j) b[u][j] = TN == 1 || j < columns ? B[l * ldb + j] : T(0.0f);
    }
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      if (guarded && k + u * kDotThreads >= end) break;
#pragma unroll
      for (int i = 0; i < TM; ++i) {
#pragma unroll
        for (int j = 0; j < TN; ++j) acc[i][j] += static_cast<float>(a[u][i]) * static_cast<float>(b[u][j]);
      }
    }
    k += kUnroll * kDotThreads;
  };
#pragma unroll 1
  while (k + (kUnroll - 1) * kDotThreads < end) add(false);
  if (k < end) add(true);

  // reduce within the warps, then over them
  __shared__ float warp_sums[kDotThreads / 32][TM * TN];
#pragma unroll
  for (int i = 0; i < TM; ++i) {
#pragma unroll
    for (int j = 0; j < TN; ++j) {
      const float sum = warp_sum(acc[i][j]);
      if (threadIdx.x % 32 == 0) warp_sums[threadIdx.x / 32][i * TN + j] = sum;
    }
  }
  __syncthreads();
  const int i = threadIdx.x / TN, j = threadIdx.x % TN;
  if (i >= rows || j >= columns) return;
  float sum = 0.0f;
#pragma unroll
  for (int w = 0; w < kDotThreads / 32; ++w) sum += warp_sums[w][threadIdx.x];
  partials[(blockIdx.y * M + row0 + i) * N + col0 + j] = sum;
}
