// Problem:  one tile does not fit all. C of 64 x 64 is an eighth of step 13's tile, a row of C a 128th; sums of 37
//           products end before its pipeline is full.
// Idea:     seven tiles (sgemm_shapes.hpp), of which the one is taken that should be fastest, by an estimate. And
//           without tiles: k up to 8, where C's bytes are the work; few elements of long sums; few rows; few columns.
// Expect:   1.0x step 13 at the table's sizes, which keep its tile; 1.1 to 500x where its tile is mostly idle.
// Measured: 1.00x step 13, 1.04x cuBLAS at 4096 (H200); 1.00x, 1.03x (H100).
// Next:     what would a tile in between, 128 x 128, need to pay? (16-byte copies of A too: a transposed copy of A.)
#include "../few_columns.cuh"
#include "../few_rows.cuh"
#include "../products_without_tiles.cuh"
#include "sgemm_shapes.hpp"
#include "small_tile.cuh"
#include "stream_k.cuh"

#include <utility>

template <std::size_t i>
static void launch_tile(const Product<float>& p, bool aligned_b) {
  constexpr SgemmTile t = kSgemmTiles[i];
  constexpr int threads = t.BM / t.TM * (t.BN / t.TN);
  const auto kernel = aligned_b ? sgemm_small_tile<t.BM, t.BN, t.BK, t.TM, t.TN, t.stages, 4>
                                : sgemm_small_tile<t.BM, t.BN, t.BK, t.TM, t.TN, t.stages, 1>;
  const std::size_t tiles_n = ceil_div(p.N, t.BN), tiles = tiles_n * ceil_div(p.M, t.BM);
  const std::size_t wanted = std::min(sgemm_cut(t, p.M, p.N, p.K, aligned_b, sm_count()).slices, kMaxSlices);
  const std::size_t slice = ceil_div(ceil_div(p.K, wanted), t.BK) * t.BK, slices = ceil_div(p.K, slice);
  float* partials = slices > 1 ? scratch<float, struct GemmSlices>(slices * p.M * p.N) : nullptr;
  const dim3 grid(static_cast<unsigned>(tiles), static_cast<unsigned>(slices));
  kernel<<<grid, threads>>>(p.M, p.N, p.K, p.alpha, p.A, p.lda, p.B, p.ldb, p.beta, p.C, p.ldc,
                            static_cast<unsigned>(tiles_n), slice, partials);
  CUDA_CHECK(cudaGetLastError());
  if (slices > 1) add_slices(p, grid.y, partials);
}

template <std::size_t... i>
static void launch_tile(std::size_t tile, const Product<float>& p, bool aligned_b, std::index_sequence<i...>) {
  ((tile == i + 1 ? launch_tile<i + 1>(p, aligned_b) : void()), ...);
}

static void launch(std::size_t M, std::size_t N, std::size_t K, float alpha, const float* A, std::size_t lda,
                   const float* B, std::size_t ldb, float beta, float* C, std::size_t ldc) {
  if (M == 0 || N == 0) return;
  if (alpha == 0) K = 0;  // A and B are not read
  const Product<float> p{M, N, K, alpha, A, lda, B, ldb, beta, C, ldc};
  const bool aligned_b = aligned_for<float4>(B) && ldb % 4 == 0 && N % 4 == 0;
  const std::size_t kernel = sgemm_kernel(M, N, K, aligned_b, sm_count());
  if (kernel == kSmallK) {
    launch_small_k(p);
  } else if (kernel == kDot) {
    launch_dot(p);
  } else if (kernel == kFewRows) {
    launch_few_rows(p);
  } else if (kernel == kFewColumns) {
    launch_few_columns(p);
  } else if (kernel == kStreamK) {
    launch_stream_k(M, N, K, alpha, A, lda, B, ldb, beta, C, ldc);
  } else {
    launch_tile(kernel, p, aligned_b, std::make_index_sequence<kTiles - 1>());
  }
}

LADDER_STEP(Sgemm, launch);
