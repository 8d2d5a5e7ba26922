// Problem:  step 02's mma.sync has half of wgmma's rate. linear 05 uses TMA, whose maps describe one matrix each.
// Idea:     linear 05 on all layers' tiles. A is one matrix of b m rows and W one of b n: a box that ends in the next
//           layer brings rows whose sums aren't stored. C's map has a third dimension, so stores end with the layer.
// Expect:   1.5 to 2x step 02, 0.75 to 0.9x cuBLASLt at 16 x 512 x 1024 x 1024: GELU adds 4096 clocks to a tile's
//           16384, and no wgmma runs meanwhile. At 64 x 128 x 1024 x 1024 DRAM is the limit (168 MB).
// Measured: 1.69x step 02, 0.81x cuBLASLt at 16x512x1024x1024 (H200).
// Next:     layers of different heights, such as experts with as many tokens as chose them? (A grouped GEMM.)
// needs: sm_90a
#include "linear_batched.cuh"
#include "batch_by_tma.cuh"
#include "linear_05_persistent.cu"

// kByTma: TMA can store C.
template <bool kByTma>
__global__ void __launch_bounds__(kThreads, 1)
    linear_batched_persistent(const __grid_constant__ CUtensorMap A, const __grid_constant__ CUtensorMap W,
                              const __grid_constant__ CUtensorMap C_map, const __nv_bfloat16* __restrict__ bias,
                              __nv_bfloat16* __restrict__ C, unsigned layers, unsigned M, unsigned N, unsigned steps,
                              unsigned tiles_m, unsigned tiles_n) {
  const unsigned tiles = tiles_m * tiles_n;
  const auto place = [&](unsigned index) {  // rows are counted over all layers
    const Tile at = tile_place(index % tiles, tiles_m, tiles_n);
    const unsigned layer = index / tiles;
    return Place{layer * M + at.row * BM, layer * N + at.col * BN, 0, steps};
  };
  run_tiles(&A, &W, layers * tiles, place, [&](float(&acc)[128], Shared& shared, const Place& at, unsigned index) {
    const unsigned layer = index / tiles, row = at.row - layer * M, col = at.col - layer * N;
    bias_gelu(acc, bias + at.col, static_cast<int>(min(N - col, unsigned{BN})));
    if constexpr (kByTma) {
      store_by_tma(acc, shared, row, col,
                   [&](const void* box, unsigned col, unsigned row) { tma_store(box, &C_map, col, row, layer); });
    } else {
      store_by_threads(acc, shared, C + std::size_t{layer} * M * N, M, N, row, col, false);
    }
  });
}

static void launch_batch(const __nv_bfloat16* A, const __nv_bfloat16* W, const __nv_bfloat16* bias, __nv_bfloat16* C,
                         std::size_t b, std::size_t m, std::size_t n, std::size_t k) {
  if (b == 0 || m == 0 || n == 0) return;
  if (k == 0) {
    for (std::size_t i = 0; i < b; ++i) without_product<false>(bias + i * n, C + i * m * n, m, n);
    return;
  }
  const auto tiles_m = static_cast<unsigned>(ceil_div(m, BM)), tiles_n = static_cast<unsigned>(ceil_div(n, BN));
  const auto layers = static_cast<unsigned>(b);
  const unsigned grid = std::min(layers * tiles_m * tiles_n, static_cast<unsigned>(sm_count()));
  const bool by_tma = tma_stores(C, n, n);
  const auto kernel = by_tma ? linear_batched_persistent<true> : linear_batched_persistent<false>;
  const auto [map_a, map_w] = maps_of(A, W, b * m, b * n, k);
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes));
  kernel<<<grid, kThreads, kBytes>>>(map_a, map_w, by_tma ? tensor_map_of_batch(C, b, m, n, 64) : CUtensorMap{}, bias,
                                     C, layers, m, n, static_cast<unsigned>(ceil_div(k, BK)), tiles_m, tiles_n);
  CUDA_CHECK(cudaGetLastError());
}

using LinearBatchedByTma = LayerByTma<LinearBatched, true>;
LADDER_STEP(LinearBatchedByTma, launch_batch);
