// Products for which tiles of C don't pay: K up to 8, and few elements with long sums. All sums are FP32.
#pragma once
#include "add_slices.cuh"
#include "block_reduce.cuh"
#include "slices.cuh"

// The arguments of C = alpha A B + beta C, as in BLAS.
template <typename T>
struct Product {
  std::size_t M, N, K;
  float alpha;
  const T* A;
  std::size_t lda;
  const T* B;
  std::size_t ldb;
  float beta;
  T* C;
  std::size_t ldc;
};

constexpr std::size_t kMaxSlices = 65535;  // in gridDim.y

template <typename T>
void add_slices(const Product<T>& p, unsigned slices, const float* partials) {
  launch_add_slices(p.M, p.N, p.alpha, p.beta, p.C, p.ldc, slices, partials);
}

// For K up to kMaxK, 8 at most, where writing C takes most of the time. A block has `rows` rows of a tile of kColumns *
// width columns. Thread t has columns t % width, t % width + width, ..., keeps their K elements of B in registers, and
// takes every (blockDim.x / width)-th row, kRows at a time.
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
    T a[kRows][kMaxK];  // not converted yet: each conversion would wait for its load
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

template <int kColumns, typename T>
void launch_small_k(const Product<T>& p) {
  constexpr int block = 256;
  const std::size_t tiles_n = ceil_div(p.N, block * kColumns), width = ceil_div(p.N, tiles_n * kColumns);
  // About 64 blocks per SM, but at least 4 rows for each row of threads.
  const std::size_t row_step = block / width, even = p.M * tiles_n / (std::size_t{64} * sm_count());
  const std::size_t rows = std::clamp<std::size_t>(even, std::max<std::size_t>(16, 4 * row_step), 1024);
  const auto kernel = p.K <= 2   ? gemm_small_k<T, 2, kColumns>
                      : p.K <= 4 ? gemm_small_k<T, 4, kColumns>
                                 : gemm_small_k<T, 8, kColumns>;
  kernel<<<static_cast<unsigned>(tiles_n * ceil_div(p.M, rows)), block>>>(
      p.M, p.N, static_cast<int>(p.K), p.alpha, p.A, p.lda, p.B, p.ldb, p.beta, p.C, p.ldc,
      static_cast<unsigned>(tiles_n), static_cast<int>(width), static_cast<int>(rows));
  CUDA_CHECK(cudaGetLastError());
}

// Four columns per thread share the loads of A. With a small N, too few lanes would have neighbouring columns.
template <typename T>
void launch_small_k(const Product<T>& p) {
  p.N >= 64 ? launch_small_k<4>(p) : launch_small_k<1>(p);
}

// For few elements of C and a long K: the threads of a block share each sum.
constexpr int kDotThreads = 256;

// A block computes a tile of up to TM x TN elements over slice blockIdx.y of k. Lanes have neighbouring k, so loads of
// A are coalesced. Sums go to partials[(slice * M + row) * N + column].
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
  // Past the last row or the end of k, the last element is read again and dropped: a guard would delay the next load.
  const T* row[TM];
#pragma unroll
  for (int i = 0; i < TM; ++i) row[i] = A + (row0 + min(i, rows - 1)) * lda;
  B += col0;
  float acc[TM][TN] = {};
  long long k = begin + threadIdx.x;
  const auto add = [&](bool guarded) {
    T a[kUnroll][TM], b[kUnroll][TN];  // not converted yet: a conversion would wait for its load
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

  // reduce within each warp, then over the warps
  __shared__ float warp_sums[kDotThreads / 32][TM * TN];
#pragma unroll
  for (int i = 0; i < TM; ++i) {
#pragma unroll
    for (int j = 0; j < TN; ++j) {
      const float sum = warp_sum_to_lane_0(acc[i][j]);
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

template <int TM, int TN, typename T>
void launch_dot(const Product<T>& p) {
  const auto kernel = gemm_dot_tile<T, TM, TN>;
  const std::size_t tiles_m = ceil_div(p.M, TM), tiles_n = ceil_div(p.N, TN), tiles = tiles_m * tiles_n;
  const std::size_t resident = resident_blocks(kernel, kDotThreads);
  const std::size_t slices = std::min(slices_for(tiles, resident, p.K / 1024), kMaxSlices);
  float* partials = scratch<float, struct GemmSlices>(slices * p.M * p.N);
  const dim3 grid(static_cast<unsigned>(tiles), static_cast<unsigned>(slices));
  kernel<<<grid, kDotThreads>>>(p.M, p.N, p.K, p.A, p.lda, p.B, p.ldb, static_cast<unsigned>(tiles_m),
                                static_cast<unsigned>(tiles_n), ceil_div(p.K, slices), partials);
  CUDA_CHECK(cudaGetLastError());
  add_slices(p, grid.y, partials);
}

template <typename T>
void launch_dot(const Product<T>& p) {
  const auto run = p.M > 4 && p.N == 1  ? launch_dot<8, 1, T>
                   : p.M > 4 && p.N > 4 ? launch_dot<8, 8, T>
                                        : launch_dot<4, 4, T>;
  run(p);
}
