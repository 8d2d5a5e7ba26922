// Products on mma.sync: a tile that suits C, and k in slices where tiles are few.
#pragma once
#include "few_columns.cuh"
#include "few_rows.cuh"
#include "gemm_shapes.hpp"
#include "mma_tile.cuh"
#include "products_without_tiles.cuh"
#include "scaled_matrix.cuh"

#include <utility>

// Do all rows begin at multiples of 16 bytes?
template <typename T>
bool rows_are_aligned(const T* data, std::size_t ld) {
  return (reinterpret_cast<std::uintptr_t>(data) | ld * sizeof(T)) % 16 == 0;
}
// And does the last one end there?
template <typename T>
bool all_aligned(const T* data, std::size_t ld, std::size_t columns) {
  return rows_are_aligned(data, ld) && columns * sizeof(T) % 16 == 0;
}

template <template <typename, int> class TilesOf, std::size_t i, typename T>
void launch_mma_tile(const Product<T>& p) {
  constexpr MmaTile t = kMmaTiles[i];
  constexpr int BK = kRowBytes / sizeof(T), threads = t.warps_m * t.warps_n * 32;
  constexpr int stage = kStageBytes<T, TilesOf<T, t.BN>, t.BM>, stages = std::min(t.stages, kMostStageBytes / stage);
  const auto kernel = gemm_mma_tile<T, TilesOf, t.BM, t.BN, t.warps_m, t.warps_n, stages>;
  const auto tiles_m = static_cast<unsigned>(ceil_div(p.M, t.BM)), tiles_n = static_cast<unsigned>(ceil_div(p.N, t.BN));
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, stages * stage));
  const std::size_t resident = resident_blocks(kernel, threads, stages * stage), tiles = std::size_t{tiles_m} * tiles_n;
  constexpr bool aligned = !TilesOf<T, t.BN>::A::kSkewed;
  const bool wide_c = rows_are_aligned(p.C, p.ldc);
  const TileTime time = mma_tile_time(t, resident / sm_count(), sizeof(T), aligned, wide_c, p.M, p.N);
  const std::size_t slices = std::min(gemm_slices(tiles, resident, p.K * sizeof(T), p.M * p.N, time), kMaxSlices);
  const std::size_t slice = ceil_div(ceil_div(p.K, slices), BK) * BK;
  const int bytes = static_cast<int>(std::min<std::size_t>(stages, slice / BK)) * stage;  // short k: more blocks fit
  float* partials = slices > 1 ? scratch<float, struct GemmSlices>(slices * p.M * p.N) : nullptr;
  const TileSource<T> A{p.A, static_cast<long long>(p.lda)}, B{p.B, static_cast<long long>(p.ldb)};
  const dim3 grid(tiles_m * tiles_n, static_cast<unsigned>(slices));
  kernel<<<grid, threads, bytes>>>(p.M, p.N, p.K, p.alpha, A, B, p.beta, p.C, p.ldc, rows_are_aligned(p.C, p.ldc),
                                   tiles_m, tiles_n, slice, partials);
  CUDA_CHECK(cudaGetLastError());
  if (slices > 1) add_slices(p, grid.y, partials);
}

template <typename T, std::size_t... i>
void launch_mma_tile(GemmKernel tile, const Product<T>& p, std::index_sequence<i...>) {
  const bool aligned = all_aligned(p.A, p.lda, p.K) && all_aligned(p.B, p.ldb, p.N);
  const auto launch = [&](auto number) {
    constexpr std::size_t n = decltype(number)::value;
    aligned ? launch_mma_tile<AlignedTiles, n>(p) : launch_mma_tile<SkewedTiles, n>(p);
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
  } else if (kernel == GemmKernel::few_columns) {
    launch_few_columns(p);
  } else {
    launch_mma_tile(kernel, p, std::make_index_sequence<std::size(kMmaTiles)>());
  }
}
