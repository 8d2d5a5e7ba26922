// Problem:  step 06 reads 48 KB per stage and SM from L2, though blocks in the same columns of C share 32 KB of B.
// Idea:     a cluster of two such blocks. Each multicasts half of B's tile to both, so a stage's readers arrive at
//           `empty` of both.
// Expect:   1.0x step 06: 32 KB per stage and SM from L2 instead of 48, but L2 is not the limit at 4096.
// Measured: 1.00x step 06, 1.00x cuBLAS at 4096 (H200); 1.00x, 1.00x (H100).
// Next:     512 tiles on 132 SMs leave the last of 4 waves unfilled. What would you do? (Smaller tiles, or split k.)
// needs: sm_90a
#include "gemm_bf16_06_persistent.cu"  // the tile, its stages, and store_by_tma
#include "launch_cluster.cuh"

constexpr unsigned kCluster = 2;  // blocks one below the other

// kByTma: beta is 0, and TMA can store C. Otherwise threads store it, row by row.
template <bool kByTma>
__global__ void __launch_bounds__(kThreads, 1)
    gemm_bf16_multicast(const __grid_constant__ CUtensorMap A, const __grid_constant__ CUtensorMap B,
                        const __grid_constant__ CUtensorMap C_map, unsigned M, unsigned N, unsigned steps, float alpha,
                        float beta, __nv_bfloat16* __restrict__ C, std::size_t ldc, unsigned tiles_m, unsigned tiles_n,
                        bool aligned) {
  extern __shared__ unsigned char memory[];
  Shared& shared = swizzle_aligned<Shared>(memory);
  const unsigned tid = threadIdx.x, lane = tid % 32;
  // a cluster takes two tiles at a time; tiles_m counts such pairs
  const unsigned rank = cluster_rank(), first = blockIdx.x / kCluster, clusters = gridDim.x / kCluster;
  const auto place = [&](unsigned pair) {  // row and column of this block's tile
    const Tile at = tile_place(pair, tiles_m, tiles_n);
    return make_uint2((at.row * kCluster + rank) * BM, at.col * BN);
  };

  if (tid == 0) {
    for (Barrier& barrier : shared.full) mbarrier_init(&barrier, 1);
    for (Barrier& barrier : shared.empty)
      mbarrier_init(&barrier, kCluster * 8);  // the warps of both blocks that multiply
    mbarrier_init_fence();
  }
  cluster_sync();

  unsigned turn = 0;  // steps of all tiles so far
  if (tid < 128) {
    registers_decrease<40>();
    for (unsigned tile = first; tile < tiles_m * tiles_n && tid == 0; tile += clusters) {
      const auto [row, col] = place(tile);
      for (unsigned step = 0; step < steps; ++step, ++turn) {
        Stage& to = shared.stages[turn % kStages];
        Barrier* barrier = &shared.full[turn % kStages];
        mbarrier_wait(&shared.empty[turn % kStages], turn / kStages % 2 ^ 1);  // does not wait in the first round
        mbarrier_arrive_expect(barrier, sizeof(Stage));
        tma_load(to.A, &A, step * BK, row, barrier);
        for (unsigned b = rank; b < BN / 64; b += kCluster) {
          tma_load_multicast(to.B[b], &B, col + 64 * b, step * BK, barrier, (1 << kCluster) - 1);
        }
      }
    }
  } else {
    registers_increase<232>();
    const unsigned warpgroup = tid / 128 - 1, warp = tid / 32 - 4;
    const auto release = [&](unsigned turn) {  // in both blocks, because both producers write this stage
      if (lane < kCluster) mbarrier_arrive_at(&shared.empty[turn % kStages], lane);
    };
    for (unsigned tile = first; tile < tiles_m * tiles_n; tile += clusters) {
      float acc[128];
      for (unsigned step = 0; step < steps; ++step, ++turn) {
        mbarrier_wait(&shared.full[turn % kStages], turn / kStages % 2);
        const Stage& from = shared.stages[turn % kStages];
        wgmma_fence();
#pragma unroll
        for (int k = 0; k < BK; k += 16) {
          const std::uint64_t a = wgmma_descriptor(&from.A[warpgroup * 64][k], 0, kGroupOfRows);
          const std::uint64_t b = wgmma_descriptor(&from.B[0][k][0], sizeof(from.B[0]), kGroupOfRows);
          wgmma_m64n256k16_bf16_kn(acc, a, b, step > 0 || k > 0);
        }
        wgmma_commit();
        wgmma_wait<1>(acc);
        if (step > 0) release(turn - 1);
      }
      wgmma_wait<0>(acc);
      release(turn - 1);

      const auto [row, col] = place(tile);
      if constexpr (kByTma) {
        store_by_tma(acc, alpha, shared.C[warpgroup], &C_map, row + warpgroup * 64, col);
      } else {
        const unsigned i = row + warp * 16;
        store_rows<BN, 32>(acc, shared.sums[warp], &C[i * ldc + col], ldc, static_cast<int>(min(M - min(i, M), 16u)),
                           static_cast<int>(min(N - col, unsigned{BN})), alpha, beta, aligned);
      }
    }
    if (kByTma && tid % 128 == 0) tma_store_wait_read<0>();  // TMA has read the boxes before the block exits
  }
  cluster_sync();  // the other block may still arrive at this block's barriers
}

static void launch_multicast(std::size_t M, std::size_t N, std::size_t K, float alpha, const __nv_bfloat16* A,
                             std::size_t lda, const __nv_bfloat16* B, std::size_t ldb, float beta, __nv_bfloat16* C,
                             std::size_t ldc) {
  if (M == 0 || N == 0) return;
  if (K == 0 || alpha == 0) return scale_matrix(M, N, beta, C, ldc);
  A = rows_for_tma<struct AlignedA>(A, M, K, lda);
  B = rows_for_tma<struct AlignedB>(B, K, N, ldb);
  const auto tiles_m = static_cast<unsigned>(ceil_div(M, BM * kCluster)),
             tiles_n = static_cast<unsigned>(ceil_div(N, BN));
  const auto steps = static_cast<unsigned>(ceil_div(K, BK));
  const unsigned clusters = std::min(tiles_m * tiles_n, sm_count() / kCluster);
  const bool by_tma = beta == 0 && tma_stores(C, N, ldc);
  const auto kernel = by_tma ? gemm_bf16_multicast<true> : gemm_bf16_multicast<false>;
  ClusterLaunch(kernel, kCluster, kThreads, sizeof(Shared) + kSwizzleAlignment)
      .start(clusters, tensor_map(A, M, K, lda, BM), tensor_map(B, K, N, ldb, BK),
             by_tma ? tensor_map(C, M, N, ldc, 64) : CUtensorMap{}, M, N, steps, alpha, beta, C, ldc, tiles_m, tiles_n,
             tma_takes(C, ldc));
}

LADDER_STEP(GemmBf16Tma, launch_multicast);
