// A product as BLAS is asked for, and its launches without tiles: for k up to 8, and for few elements of long sums.
#pragma once
#include "add_slices.cuh"
#include "dot_tile.cuh"
#include "slices.cuh"
#include "small_k.cuh"

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

// Four columns per thread share the loads of A, if lanes still have neighbours then.
template <typename T>
void launch_small_k(const Product<T>& p) {
  p.N >= 64 ? launch_small_k<4>(p) : launch_small_k<1>(p);
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
