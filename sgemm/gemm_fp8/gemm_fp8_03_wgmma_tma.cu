// Problem:  on Hopper mma.sync has no FP8: step 02 runs at FP16's rate, less the conversions.
// Idea:     wgmma on e4m3: gemm_int8 03 with FP32 sums. Like int8, FP8 has no transpose bit.
// Expect:   3.5 to 5x step 02, 0.85 to 0.95x cuBLASLt with fast accumulation at 4096: gemm_bf16 05 has 0.90x cuBLAS,
//           and a tile takes half as long here.
// Measured: 4.55x step 02, 0.94x cuBLASLt at 4096 (H200).
// Next:     4096 products in sums of 14 bits: what is lost, and how is it kept at this rate? (gemm_fp8_blocks)
// needs: sm_90a
#include "gemm_fp8.cuh"
#include "wgmma_8bit.cuh"
#include "../byte_map.cuh"
#include "../tile_of_c.cuh"

constexpr int BM = 128, BN = 256, BK = 128;
constexpr int kThreads = 3 * 128;  // one warpgroup loads, two multiply 64 rows each
constexpr int kStages = 4;

// One step along k, as TMA copies it: rows of 128 bytes, swizzled.
struct Stage {
  std::uint8_t A[BM][BK], B[BN][BK];
};
constexpr unsigned kGroupOfRows = 8 * 128;  // bytes; the swizzle repeats after 8 rows

__global__ void __launch_bounds__(kThreads, 1)
    gemm_fp8_wgmma_tma(const __grid_constant__ CUtensorMap A, const __grid_constant__ CUtensorMap B, unsigned M,
                       unsigned N, unsigned steps, const float* __restrict__ a_scales,
                       const float* __restrict__ b_scales, float* __restrict__ C, unsigned tiles_m, unsigned tiles_n,
                       bool pairs) {
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
  if (tid < 128) {  // the producer: one thread of a warpgroup, which gives its registers to the others
    registers_decrease<40>();
    for (unsigned step = 0; step < steps && tid == 0; ++step) {
      Stage& to = stages[step % kStages];
      Barrier* barrier = &full[step % kStages];
      mbarrier_wait(&empty[step % kStages], step / kStages % 2 ^ 1);  // does not wait in the first round
      mbarrier_arrive_expect(barrier, sizeof(Stage));
      tma_load(to.A, &A, step * (BK / 2), row0, barrier);  // the maps count pairs of bytes
      tma_load(to.B, &B, step * (BK / 2), col0, barrier);
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
      for (int k = 0; k < BK; k += 32) {
        const std::uint64_t a = wgmma_descriptor(&from.A[warpgroup * 64][k], 0, kGroupOfRows);
        const std::uint64_t b = wgmma_descriptor(&from.B[0][k], 0, kGroupOfRows);
        wgmma_m64n256k32_e4m3_nk(acc, a, b, step > 0 || k > 0);
      }
      wgmma_commit();
      wgmma_wait<1>(acc);  // the previous step is done, this one may still run
      if (step > 0 && lane == 0) mbarrier_arrive(&empty[(step - 1) % kStages]);
    }
    wgmma_wait<0>(acc);

    // store: per 8 columns, two neighbours in row lane / 4 of the warp's 16, and two more 8 rows below
    const unsigned row = row0 + warpgroup * 64 + tid % 128 / 32 * 16 + lane / 4, col = col0 + lane % 4 * 2;
    const float scale = a_scales[0] * b_scales[0];
#pragma unroll
    for (unsigned x = 0; x < 128; x += 2) {
      const unsigned i = row + x / 2 % 2 * 8, j = col + x / 4 * 8;
      const float s0 = steps == 0 ? 0 : acc[x], s1 = steps == 0 ? 0 : acc[x + 1];  // k may be 0
      if (i < M && j < N) store_pair(&C[std::size_t{i} * N + j], s0 * scale, s1 * scale, 0, j + 1 < N, pairs);
    }
  }
}

static void launch(const std::uint8_t* A, const std::uint8_t* B, const float* a_scales, const float* b_scales, float* C,
                   std::size_t M, std::size_t N, std::size_t K) {
  if (M == 0 || N == 0) return;
  const CUtensorMap map_a = K > 0 ? map_of_bytes<struct AlignedA>(A, M, K, BM) : CUtensorMap{};
  const CUtensorMap map_b = K > 0 ? map_of_bytes<struct AlignedB>(B, N, K, BN) : CUtensorMap{};
  const auto tiles_m = static_cast<unsigned>(ceil_div(M, BM)), tiles_n = static_cast<unsigned>(ceil_div(N, BN));
  constexpr int bytes = kStages * sizeof(Stage) + kSwizzleAlignment;
  CUDA_CHECK(cudaFuncSetAttribute(gemm_fp8_wgmma_tma, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  gemm_fp8_wgmma_tma<<<tiles_m * tiles_n, kThreads, bytes>>>(
      map_a, map_b, static_cast<unsigned>(M), static_cast<unsigned>(N), static_cast<unsigned>(ceil_div(K, BK)),
      a_scales, b_scales, C, tiles_m, tiles_n, has_pairs(C, N));
  CUDA_CHECK(cudaGetLastError());
}

using GemmFp8Tma = WithByteMaps<GemmFp8>;
LADDER_STEP(GemmFp8Tma, launch);
