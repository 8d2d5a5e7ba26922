// C = alpha A B + beta C at any shape, as in gemm_bf16_any_shape, with step 02 for large products.
#include "../sgemm_tf32.cuh"
#include "../../tensor_core_candidates.cuh"
#ifndef CUDA_EMU
#include "../sgemm_tf32_02_wgmma_tma.cu"
#endif

struct Tf32 {
  using T = float;
#ifndef CUDA_EMU
  struct Stage {
    T A[128][32];
    T B[4][32][32];
  };
  static void launch_large_tiles(const GemmCall<T>& c) {
    launch_wgmma(c.M, c.N, c.K, c.alpha, c.A, c.lda, c.B, c.ldb, c.beta, c.C, c.ldc);
  }

  // A warpgroup multiplies 64 columns, two steps at a time. `ready` waits for a step's stage, `release` gives it back.
  template <typename Ready, typename Release>
  __device__ static void multiply(float (&acc)[64], const Stage* stages, unsigned steps, const Ready& ready,
                                  const Release& release) {
    const unsigned lane = threadIdx.x % 32;
    const Columns columns(threadIdx.x / 128, threadIdx.x / 32 % 4, lane);
    float operands[2][4][4];
    const auto read = [&](float(&to)[4][4], unsigned step) {
      ready(step);
      columns.read(to, stages[step % kWgmmaStages].B, lane);
    };
    const auto start = [&](const float(&from)[4][4], unsigned step) {
      const Stage& stage = stages[step % kWgmmaStages];
      wgmma_fence();
#pragma unroll
      for (int k = 0; k < 32; k += 8) {
        wgmma_m64n128k8_tf32_ra_nk(acc, from[k / 8], wgmma_descriptor(&stage.A[0][k], 0, 8 * 128), step > 0 || k > 0);
      }
      wgmma_commit();
      wgmma_wait<1>(acc);
      if (step > 0) release(step - 1);
    };
    read(operands[0], 0);
    for (unsigned step = 0; step < steps; step += 2) {
      start(operands[0], step);
      if (step + 1 == steps) break;
      read(operands[1], step + 1);
      start(operands[1], step + 1);
      if (step + 2 < steps) read(operands[0], step + 2);
    }
    wgmma_wait<0>(acc);
  }

  __device__ static unsigned place(unsigned row, unsigned column) { return column ^ row / 2 % 4 * 4; }
  __device__ static void keep(const float (&acc)[64], float (&sums)[128][128]) {
    const unsigned lane = threadIdx.x % 32;
    const Columns columns(threadIdx.x / 128, threadIdx.x / 32 % 4, lane);
#pragma unroll
    for (unsigned x = 0; x < 64; x += 4) {  // acc[x] and [x + 2] are neighbours in C, [x + 1] and [x + 3] below
      for (unsigned y = 0; y < 2; ++y) {
        const unsigned row = x / 4 * 8 + lane % 4 * 2 + y, column = columns.first();
        *reinterpret_cast<float2*>(&sums[row][place(row, column)]) = make_float2(acc[x + y], acc[x + y + 2]);
      }
    }
  }
#endif
};

static void launch(std::size_t M, std::size_t N, std::size_t K, float alpha, const float* A, std::size_t lda,
                   const float* B, std::size_t ldb, float beta, float* C, std::size_t ldc) {
  if (M == 0 || N == 0) return;
  if (K == 0 || alpha == 0) return scale_matrix(M, N, beta, C, ldc);
  launch_any_shape<Tf32>({{M, N, K, alpha, A, lda, B, ldb, beta, C, ldc}});
}

LADDER_STEP(SgemmTf32, launch);
