// The 128 x 128 tile of gemm_bf16 for wgmma_split_k.cuh.
#pragma once
#include "gemm_bf16.cuh"
#include "../wgmma_split_k.cuh"

struct SplitTileBf16 {
  using T = __nv_bfloat16;
  struct Stage {
    T A[128][64];
    T B[2][64][64];
  };

  // A warpgroup has 64 rows. `ready` waits for a step's stage, `release` gives it back.
  template <typename Ready, typename Release>
  __device__ static void multiply(float (&acc)[64], const Stage* stages, unsigned steps, const Ready& ready,
                                  const Release& release) {
    constexpr unsigned kGroupOfRows = 8 * 128;  // bytes; the swizzle repeats after 8 rows
    for (unsigned step = 0; step < steps; ++step) {
      const Stage& from = stages[step % kSplitStages];
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
};
