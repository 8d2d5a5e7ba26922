// Problem:  step 04's __syncthreads() per stage makes both warpgroups wait for the slower one, and delays the copies.
// Idea:     warp specialization: one producer warpgroup, two consumers; the mbarriers `full` and `empty` link them.
// Expect:   0.85 to 0.92x cuBLAS at 4096: of a tile's 44 us the tensor cores idle for about 5, at its start and end.
// Measured: 1.19x step 04, 0.90x cuBLAS at 4096 (H200); 1.18x, 0.88x (H100).
// Next:     a block ends with stores and the next one begins with loads. How can they overlap? (A persistent block.)
// needs: sm_90a
#include "gemm_bf16.cuh"
#include "hopper.cuh"
#include "../scaled_matrix.cuh"
#include "../tile_of_c.cuh"
#include "../with_tma.cuh"

constexpr int BM = 128, BN = 256, BK = 64;
constexpr int kThreads = 3 * 128;  // one warpgroup loads, two multiply 64 rows each
constexpr int kStages = 4;

// One step along k, as TMA copies it: rows of 128 bytes, swizzled. B comes in boxes of 64 columns.
struct Stage {
  __nv_bfloat16 A[BM][BK];
  __nv_bfloat16 B[BN / 64][BK][64];
};
constexpr unsigned kGroupOfRows = 8 * 128;  // bytes; the swizzle repeats after 8 rows

__global__ void __launch_bounds__(kThreads, 1)
    gemm_bf16_producer_warp(const __grid_constant__ CUtensorMap A, const __grid_constant__ CUtensorMap B, unsigned M,
                            unsigned N, unsigned steps, float alpha, float beta, __nv_bfloat16* __restrict__ C,
                            std::size_t ldc, unsigned tiles_m, unsigned tiles_n, bool pairs) {
  extern __shared__ unsigned char memory[];
  Stage* stages = &swizzle_aligned<Stage>(memory);
  __shared__ Barrier full[kStages], empty[kStages];  // a stage's bytes have arrived; its readers are done
  const unsigned tid = threadIdx.x, lane = tid % 32;
  const Tile tile = tile_place(blockIdx.x, tiles_m, tiles_n);
  const unsigned row0 = tile.row * BM, col0 = tile.col * BN;

  if (tid == 0) {
    for (Barrier& barrier : full) mbarrier_init(&barrier, 1);
    for (Barrier& barrier : empty) mbarrier_init(&barrier, 8);  // the warps that multiply
    mbarrier_init_fence();
  }
  __syncthreads();
  const auto load = [&](unsigned step) {
    Stage& to = stages[step % kStages];
    Barrier* barrier = &full[step % kStages];
    mbarrier_arrive_expect(barrier, sizeof(Stage));
    tma_load(to.A, &A, step * BK, row0, barrier);
    for (unsigned b = 0; b < BN / 64; ++b) tma_load(to.B[b], &B, col0 + 64 * b, step * BK, barrier);
  };
  if (tid < 128) {  // the producer: one thread of a warpgroup, which gives its registers to the others
    registers_decrease<40>();
    for (unsigned step = 0; step < steps && tid == 0; ++step) {
      mbarrier_wait(&empty[step % kStages], step / kStages % 2 ^ 1);  // does not wait in the first round
      load(step);
    }
  } else {
    registers_increase<232>();
    const unsigned warpgroup = tid / 128 - 1;
    float acc[128];
    for (unsigned step = 0; step < steps; ++step) {
      mbarrier_wait(&full[step % kStages], step / kStages % 2);
      const Stage& from = stages[step % kStages];
      wgmma_fence();
#pragma unroll
      for (int k = 0; k < BK; k += 16) {
        const std::uint64_t a = wgmma_descriptor(&from.A[warpgroup * 64][k], 0, kGroupOfRows);
        const std::uint64_t b = wgmma_descriptor(&from.B[0][k][0], sizeof(from.B[0]), kGroupOfRows);
        wgmma_m64n256k16_bf16_kn(acc, a, b, step > 0 || k > 0);
      }
      wgmma_commit();
      wgmma_wait<1>(acc);  // the previous step is done, this one may still run
      if (step > 0 && lane == 0) mbarrier_arrive(&empty[(step - 1) % kStages]);
    }
    wgmma_wait<0>(acc);

    const unsigned row = row0 + warpgroup * 64 + tid % 128 / 32 * 16 + lane / 4, col = col0 + lane % 4 * 2;
#pragma unroll
    for (unsigned x = 0; x < 128; x += 2) {
      const unsigned i = row + x / 2 % 2 * 8, j = col + x / 4 * 8;
      if (i < M && j < N) store_pair(&C[i * ldc + j], alpha * acc[x], alpha * acc[x + 1], beta, j + 1 < N, pairs);
    }
  }
}

static void launch(std::size_t M, std::size_t N, std::size_t K, float alpha, const __nv_bfloat16* A, std::size_t lda,
                   const __nv_bfloat16* B, std::size_t ldb, float beta, __nv_bfloat16* C, std::size_t ldc) {
  if (M == 0 || N == 0) return;
  if (K == 0 || alpha == 0) return scale_matrix(M, N, beta, C, ldc);
  A = rows_for_tma<struct AlignedA>(A, M, K, lda);
  B = rows_for_tma<struct AlignedB>(B, K, N, ldb);
  const auto tiles_m = static_cast<unsigned>(ceil_div(M, BM)), tiles_n = static_cast<unsigned>(ceil_div(N, BN));
  const auto steps = static_cast<unsigned>(ceil_div(K, BK));
  constexpr int bytes = kStages * sizeof(Stage) + kSwizzleAlignment;
  CUDA_CHECK(cudaFuncSetAttribute(gemm_bf16_producer_warp, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  gemm_bf16_producer_warp<<<tiles_m * tiles_n, kThreads, bytes>>>(tensor_map(A, M, K, lda, BM),
                                                                  tensor_map(B, K, N, ldb, BK), M, N, steps, alpha,
                                                                  beta, C, ldc, tiles_m, tiles_n, has_pairs(C, ldc));
  CUDA_CHECK(cudaGetLastError());
}

using GemmBf16Tma = WithTma<GemmBf16, __nv_bfloat16>;
LADDER_STEP(GemmBf16Tma, launch);
