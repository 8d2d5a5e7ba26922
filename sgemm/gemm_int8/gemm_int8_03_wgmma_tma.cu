// Problem:  mma.sync reaches about 0.65 of Hopper's rate (gemm_bf16), and its warps spend instructions on copies.
// Idea:     wgmma on int8: the tiles, roles and barriers of gemm_bf16 05 with bytes. wgmma takes int8 operands only if
//           k is contiguous, which A and B are: no transpose bit, no box per 64 columns.
// Expect:   1.4 to 2x step 02, 1.05 to 1.3x step 00 at 4096, which passes over C twice, but 0.7 to 0.85x its product
//           alone: a tile takes half BF16's time, and the tensor cores still idle while C is stored.
// Measured: 1.68x step 02, 1.19x cuBLASLt at 4096 (H200).
// Next:     weights in FP8 instead: what does the tensor core lose when it adds? In int8 it loses nothing.
// needs: sm_90a
#include "gemm_int8.cuh"
#include "wgmma_8bit.cuh"
#include "../byte_map.cuh"
#include "../tile_of_c.cuh"

constexpr int BM = 128, BN = 256, BK = 128;
constexpr int kThreads = 3 * 128;  // one warpgroup loads, two multiply 64 rows each
constexpr int kStages = 4;

// One step along k, as TMA copies it: rows of 128 bytes, swizzled.
struct Stage {
  std::int8_t A[BM][BK], B[BN][BK];
};
constexpr unsigned kGroupOfRows = 8 * 128;  // bytes; the swizzle repeats after 8 rows

__global__ void __launch_bounds__(kThreads, 1)
    gemm_int8_wgmma_tma(const __grid_constant__ CUtensorMap A, const __grid_constant__ CUtensorMap B, unsigned M,
                        unsigned N, unsigned steps, const float* __restrict__ row_scales,
                        const float* __restrict__ column_scales, float* __restrict__ C, unsigned tiles_m,
                        unsigned tiles_n, bool pairs) {
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
    int acc[128];
    for (unsigned step = 0; step < steps; ++step) {
      mbarrier_wait(&full[step % kStages], step / kStages % 2);
      const Stage& from = stages[step % kStages];
      wgmma_fence();
#pragma unroll
      for (int k = 0; k < BK; k += 32) {
        const std::uint64_t a = wgmma_descriptor(&from.A[warpgroup * 64][k], 0, kGroupOfRows);
        const std::uint64_t b = wgmma_descriptor(&from.B[0][k], 0, kGroupOfRows);
        wgmma_m64n256k32_s8_nk(acc, a, b, step > 0 || k > 0);
      }
      wgmma_commit();
      wgmma_wait<1>(acc);  // the previous step is done, this one may still run
      if (step > 0 && lane == 0) mbarrier_arrive(&empty[(step - 1) % kStages]);
    }
    // load the scales while the tensor cores finish: one lane loads a column's
    const unsigned row = row0 + warpgroup * 64 + tid % 128 / 32 * 16 + lane / 4, col = col0 + lane % 4 * 2;
    const float of_row[2] = {row_scales[min(row, M - 1)], row_scales[min(row + 8, M - 1)]};
    float of_column[BN / 32];
#pragma unroll
    for (unsigned x = 0; x < BN / 32; ++x)
      of_column[x] = column_scales[min(col0 + x / 2 * 64 + lane * 2 + x % 2, N - 1)];
    wgmma_wait<0>(acc);

    // store: per 8 columns, two neighbours in row lane / 4 of the warp's 16, and two more 8 rows below
#pragma unroll
    for (unsigned x = 0; x < 128; x += 4) {
      const unsigned j = col + x / 4 * 8, owner = x / 4 % 8 * 4 + lane % 4;
      const float c0 = __shfl_sync(0xffffffff, of_column[x / 32 * 2], owner);
      const float c1 = __shfl_sync(0xffffffff, of_column[x / 32 * 2 + 1], owner);
#pragma unroll
      for (unsigned half = 0; half < 2; ++half) {
        const unsigned i = row + half * 8;
        const int s0 = steps == 0 ? 0 : acc[x + 2 * half], s1 = steps == 0 ? 0 : acc[x + 2 * half + 1];  // k may be 0
        if (i < M && j < N) {
          store_pair(&C[std::size_t{i} * N + j], static_cast<float>(s0) * of_row[half] * c0,
                     static_cast<float>(s1) * of_row[half] * c1, 0, j + 1 < N, pairs);
        }
      }
    }
  }
}

static void launch(const std::int8_t* A, const std::int8_t* B, const float* row_scales, const float* column_scales,
                   float* C, std::size_t M, std::size_t N, std::size_t K) {
  if (M == 0 || N == 0) return;
  const CUtensorMap map_a = K > 0 ? map_of_bytes<struct AlignedA>(A, M, K, BM) : CUtensorMap{};
  const CUtensorMap map_b = K > 0 ? map_of_bytes<struct AlignedB>(B, N, K, BN) : CUtensorMap{};
  const auto tiles_m = static_cast<unsigned>(ceil_div(M, BM)), tiles_n = static_cast<unsigned>(ceil_div(N, BN));
  constexpr int bytes = kStages * sizeof(Stage) + kSwizzleAlignment;
  CUDA_CHECK(cudaFuncSetAttribute(gemm_int8_wgmma_tma, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  gemm_int8_wgmma_tma<<<tiles_m * tiles_n, kThreads, bytes>>>(
      map_a, map_b, static_cast<unsigned>(M), static_cast<unsigned>(N), static_cast<unsigned>(ceil_div(K, BK)),
      row_scales, column_scales, C, tiles_m, tiles_n, has_pairs(C, N));
  CUDA_CHECK(cudaGetLastError());
}

using GemmInt8Tma = WithByteMaps<GemmInt8>;
LADDER_STEP(GemmInt8Tma, launch);
