// C = alpha A B + beta C at any shape: step 07, a smaller wgmma tile with k split over a cluster or into slices, tiles
// of mma.sync for any alignment and older GPUs, and kernels without tiles. The first call at a shape times them.
#include "../gemm_bf16.cuh"
#include "../../tensor_core_candidates.cuh"
#ifndef CUDA_EMU
#include "../gemm_bf16_07_multicast.cu"
#endif

struct Bf16 {
  using T = __nv_bfloat16;
#ifndef CUDA_EMU
  struct Stage {
    T A[128][64];
    T B[2][64][64];
  };
  static void launch_large_tiles(const GemmCall<T>& c) {
    launch_multicast(c.M, c.N, c.K, c.alpha, c.A, c.lda, c.B, c.ldb, c.beta, c.C, c.ldc);
  }

  // A warpgroup multiplies 64 rows. `ready` waits for a step's stage, `release` gives it back.
  template <typename Ready, typename Release>
  __device__ static void multiply(float (&acc)[64], const Stage* stages, unsigned steps, const Ready& ready,
                                  const Release& release) {
    for (unsigned step = 0; step < steps; ++step) {
      const Stage& from = stages[step % kWgmmaStages];
      ready(step);
      wgmma_fence();
#pragma unroll
      for (int k = 0; k < 64; k += 16) {
        const std::uint64_t a = wgmma_descriptor(&from.A[threadIdx.x / 128 * 64][k], 0, kGroupOfRows);
        const std::uint64_t b = wgmma_descriptor(&from.B[0][k][0], sizeof(from.B[0]), kGroupOfRows);
        wgmma_m64n128k16_bf16_kn(acc, a, b, step > 0 || k > 0);
      }
      wgmma_commit();
      wgmma_wait<1>(acc);
      if (step > 0) release(step - 1);
    }
    wgmma_wait<0>(acc);
  }

  __device__ static unsigned place(unsigned row, unsigned column) { return column ^ row % 4 * 8; }
  __device__ static void keep(const float (&acc)[64], float (&sums)[128][128]) {
    const unsigned lane = threadIdx.x % 32;
#pragma unroll
    for (unsigned x = 0; x < 64; x += 2) {
      const unsigned row = threadIdx.x / 32 * 16 + lane / 4 + x / 2 % 2 * 8, column = lane % 4 * 2 + x / 4 * 8;
      *reinterpret_cast<float2*>(&sums[row][place(row, column)]) = make_float2(acc[x], acc[x + 1]);
    }
  }
#endif
};

static void launch(std::size_t M, std::size_t N, std::size_t K, float alpha, const __nv_bfloat16* A, std::size_t lda,
                   const __nv_bfloat16* B, std::size_t ldb, float beta, __nv_bfloat16* C, std::size_t ldc) {
  if (M == 0 || N == 0) return;
  if (K == 0 || alpha == 0) return scale_matrix(M, N, beta, C, ldc);
  launch_any_shape<Bf16>({{M, N, K, alpha, A, lda, B, ldb, beta, C, ldc}});
}

LADDER_STEP(GemmBf16, launch);
