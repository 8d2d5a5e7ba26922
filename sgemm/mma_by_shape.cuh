// Products on mma.sync: a tile that suits C, and k in slices where tiles are few.
#pragma once
#include "few_rows.cuh"
#include "gemm_shapes.hpp"
#include "mma_tile.cuh"
#include "product.cuh"
#include "scaled_matrix.cuh"

#include <utility>

// The bytes to which all rows are aligned: 16, 4, or one element.
template <typename T>
int row_alignment(const T* data, std::size_t ld) {
  const std::size_t both = reinterpret_cast<std::uintptr_t>(data) | ld * sizeof(T);
  return both % 16 == 0 ? 16 : both % 4 == 0 ? 4 : static_cast<int>(sizeof(T));
}

template <std::size_t i, bool kOdd, typename T>
void launch_mma_tile(const Product<T>& p) {
  constexpr MmaTile t = kMmaTiles[i];
  constexpr int BK = kRowBytes / sizeof(T), threads = t.warps_m * t.warps_n * 32, stage = (t.BM + t.BN) * kRowBytes;
  const auto kernel = gemm_mma_tile<T, t.BM, t.BN, t.warps_m, t.warps_n, t.stages, kOdd>;
  const auto tiles_m = static_cast<unsigned>(ceil_div(p.M, t.BM)), tiles_n = static_cast<unsigned>(ceil_div(p.N, t.BN));
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, t.stages * stage));
  const std::size_t resident = resident_blocks(kernel, threads, t.stages * stage),
                    tiles = std::size_t{tiles_m} * tiles_n;
  const TileTime time = mma_tile_time(t, resident / sm_count(), true, true, p.M, p.N);
  const std::size_t slices = std::min(gemm_slices(tiles, resident, p.K * sizeof(T), p.M * p.N, time), kMaxSlices);
  const std::size_t slice = ceil_div(ceil_div(p.K, slices), BK) * BK;
  const int bytes = static_cast<int>(std::min<std::size_t>(t.stages, slice / BK)) * stage;  // short k: more blocks fit
  float* partials = slices > 1 ? scratch<float, struct GemmSlices>(slices * p.M * p.N) : nullptr;
  const TileSource<T> A{p.A, p.A + (p.M - 1) * p.lda + p.K, static_cast<long long>(p.lda), row_alignment(p.A, p.lda)};
  const TileSource<T> B{p.B, p.B + (p.K - 1) * p.ldb + p.N, static_cast<long long>(p.ldb), row_alignment(p.B, p.ldb)};
  const dim3 grid(tiles_m * tiles_n, static_cast<unsigned>(slices));
  kernel<<<grid, threads, bytes>>>(p.M, p.N, p.K, p.alpha, A, B, p.beta, p.C, p.ldc, row_alignment(p.C, p.ldc) == 16,
                                   tiles_m, tiles_n, slice, partials);
  CUDA_CHECK(cudaGetLastError());
  if (slices > 1) add_slices(p, grid.y, partials);
}

template <typename T, std::size_t... i>
void launch_mma_tile(GemmKernel tile, const Product<T>& p, std::index_sequence<i...>) {
  constexpr bool can_be_odd = sizeof(T) < 4;
  const bool odd = can_be_odd && std::min(row_alignment(p.A, p.lda), row_alignment(p.B, p.ldb)) < 4;
  const auto launch = [&](auto number) {
    constexpr std::size_t n = decltype(number)::value;
    odd ? launch_mma_tile<n, can_be_odd>(p) : launch_mma_tile<n, false>(p);
  };
  ((tile == static_cast<GemmKernel>(i) ? launch(std::integral_constant<std::size_t, i>()) : void()), ...);
}

// M, N and K are not 0, `kernel` is not wgmma.
template <typename T>
void launch_without_wgmma(GemmKernel kernel, const Product<T>& p) {
  if (kernel == GemmKernel::small_k) {
    launch_small_k(p);
  } else if (kernel == GemmKernel::dot) {
    launch_dot(p);
  } else if (kernel == GemmKernel::few_rows) {
    launch_few_rows(p);
  } else {
    launch_mma_tile(kernel, p, std::make_index_sequence<std::size(kMmaTiles)>());
  }
}
