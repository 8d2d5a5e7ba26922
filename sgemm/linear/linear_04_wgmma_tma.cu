// Problem:  mma.sync reaches about 0.65 of a Hopper card's rate, and step 03's warps spend instructions on copies.
// Idea:     wgmma and TMA with a producer, as in gemm_bf16 05. Both operands are K-major: W needs one box per stage, no
//           transpose bit, and its descriptor is A's.
// Expect:   0.8 to 0.9x cuBLASLt at 4096^3: gemm_bf16 05's 0.90x, less an epilogue in which the tensor cores idle, with
//           GELU and loads of the bias.
// Measured: 1.68x step 03, 0.83x cuBLASLt at 4096 (H200).
// Next:     GELU takes about 10 instructions per element. What could the tensor cores do meanwhile? (The next tile.)
// needs: sm_90a
#include "gelu_tanh.cuh"
#include "layer_by_tma.cuh"
#include "linear.cuh"
#include "wgmma_nk.cuh"
#include "without_product.cuh"
#include "../tile_of_c.cuh"

constexpr int BM = 128, BN = 256, BK = 64;
constexpr int kThreads = 3 * 128;  // one warpgroup loads, two multiply 64 rows each
constexpr int kStages = 4;

// One step along k, as TMA copies it: rows of 128 bytes, swizzled.
struct Stage {
  __nv_bfloat16 A[BM][BK];
  __nv_bfloat16 W[BN][BK];
};
constexpr unsigned kGroupOfRows = 8 * 128;  // bytes; the swizzle repeats after 8 rows

__global__ void __launch_bounds__(kThreads, 1)
    linear_wgmma_tma(const __grid_constant__ CUtensorMap A, const __grid_constant__ CUtensorMap W,
                     const __nv_bfloat16* __restrict__ bias, __nv_bfloat16* __restrict__ C, unsigned M, unsigned N,
                     unsigned steps, unsigned tiles_m, unsigned tiles_n, bool pairs) {
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
      tma_load(to.A, &A, step * BK, row0, barrier);
      tma_load(to.W, &W, step * BK, col0, barrier);
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
        const std::uint64_t w = wgmma_descriptor(&from.W[0][k], 0, kGroupOfRows);
        wgmma_m64n256k16_bf16_nk(acc, a, w, step > 0 || k > 0);
      }
      wgmma_commit();
      wgmma_wait<1>(acc);  // the previous step is done, this one may still run
      if (step > 0 && lane == 0) mbarrier_arrive(&empty[(step - 1) % kStages]);
    }
    wgmma_wait<0>(acc);

    // epilogue: per 8 columns, two neighbours in row lane / 4 of the warp's 16, and two more 8 rows below
    const unsigned row = row0 + warpgroup * 64 + tid % 128 / 32 * 16 + lane / 4, col = col0 + lane % 4 * 2;
#pragma unroll
    for (unsigned x = 0; x < 128; x += 4) {
      const unsigned j = col + x / 4 * 8;
      if (j >= N) continue;
      const float b0 = __bfloat162float(bias[j]), b1 = j + 1 < N ? __bfloat162float(bias[j + 1]) : 0.0f;
#pragma unroll
      for (unsigned half = 0; half < 2; ++half) {
        const unsigned i = row + half * 8;
        const float* sums = &acc[x + half * 2];
        if (i >= M) continue;
        store_pair(&C[std::size_t{i} * N + j], gelu_tanh(sums[0] + b0), gelu_tanh(sums[1] + b1), 0, j + 1 < N, pairs);
      }
    }
  }
}

static void launch(const __nv_bfloat16* A, const __nv_bfloat16* W, const __nv_bfloat16* bias, __nv_bfloat16* C,
                   std::size_t M, std::size_t N, std::size_t K) {
  if (M == 0 || N == 0) return;
  if (K == 0) return without_product<false>(bias, C, M, N);
  std::size_t lda = K, ldw = K;
  A = rows_for_tma<struct AlignedA>(A, M, K, lda);
  W = rows_for_tma<struct AlignedW>(W, N, K, ldw);
  const auto tiles_m = static_cast<unsigned>(ceil_div(M, BM)), tiles_n = static_cast<unsigned>(ceil_div(N, BN));
  const auto steps = static_cast<unsigned>(ceil_div(K, BK));
  constexpr int bytes = kStages * sizeof(Stage) + kSwizzleAlignment;
  CUDA_CHECK(cudaFuncSetAttribute(linear_wgmma_tma, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  linear_wgmma_tma<<<tiles_m * tiles_n, kThreads, bytes>>>(tensor_map(A, M, K, lda, BM), tensor_map(W, N, K, ldw, BN),
                                                           bias, C, M, N, steps, tiles_m, tiles_n, has_pairs(C, N));
  CUDA_CHECK(cudaGetLastError());
}

using LinearByTma = LayerByTma<Linear, false>;
LADDER_STEP(LinearByTma, launch);
