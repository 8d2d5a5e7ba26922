// bug: waits for the parity of the step instead of the parity of the pass through the stages
// caught by: gpu | FAIL
// stage: races and barriers
// needs: sm_90a
#include "../gemm_bf16.cuh"
#include "hopper.cuh"
#include "tensor_map.cuh"
#include "../../scaled_matrix.cuh"

constexpr int BM = 128, BN = 256, BK = 64;
constexpr int kThreads = 256, kStages = 3;
constexpr unsigned kGroupOfRows = 8 * 128;  // bytes; the swizzle repeats after 8 rows

struct Stage {
  __nv_bfloat16 A[BM][BK];
  __nv_bfloat16 B[BN / 64][BK][64];
};

__global__ void __launch_bounds__(kThreads, 1)
    gemm_bf16_wrong_phase(const __grid_constant__ CUtensorMap A, const __grid_constant__ CUtensorMap B, std::size_t M,
                          std::size_t N, unsigned steps, float alpha, float beta, __nv_bfloat16* __restrict__ C,
                          std::size_t ldc, unsigned tiles_m) {
  extern __shared__ unsigned char memory[];
  Stage* stages = &swizzle_aligned<Stage>(memory);
  __shared__ Barrier full[kStages];
  const unsigned tid = threadIdx.x, row0 = blockIdx.x % tiles_m * BM, col0 = blockIdx.x / tiles_m * BN;
  if (tid == 0) {
    for (Barrier& barrier : full) mbarrier_init(&barrier, 1);
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
  if (tid == 0) {
    for (unsigned step = 0; step < kStages - 1 && step < steps; ++step) load(step);
  }
  float acc[128];
  for (unsigned step = 0; step < steps; ++step) {
    if (tid == 0 && step + kStages - 1 < steps) load(step + kStages - 1);
    mbarrier_wait(&full[step % kStages], step % 2);  // step / kStages % 2
    const Stage& from = stages[step % kStages];
    wgmma_fence();
#pragma unroll
    for (int k = 0; k < BK; k += 16) {
      const std::uint64_t a = wgmma_descriptor(&from.A[tid / 128 * 64][k], 0, kGroupOfRows);
      const std::uint64_t b = wgmma_descriptor(&from.B[0][k][0], sizeof(from.B[0]), kGroupOfRows);
      wgmma_m64n256k16_bf16_kn(acc, a, b, step > 0 || k > 0);
    }
    wgmma_commit();
    wgmma_wait<0>(acc);
    __syncthreads();
  }
  const std::size_t row = row0 + tid / 32 * 16 + tid % 32 / 4, col = col0 + tid % 4 * 2;
#pragma unroll
  for (unsigned x = 0; x < 128; ++x) {
    const std::size_t i = row + x / 2 % 2 * 8, j = col + x / 4 * 8 + x % 2;
    if (i >= M || j >= N) continue;
    __nv_bfloat16& c = C[i * ldc + j];
    c = __float2bfloat16(alpha * acc[x] + (beta == 0 ? 0 : beta * __bfloat162float(c)));
  }
}

static void launch(std::size_t M, std::size_t N, std::size_t K, float alpha, const __nv_bfloat16* A, std::size_t lda,
                   const __nv_bfloat16* B, std::size_t ldb, float beta, __nv_bfloat16* C, std::size_t ldc) {
  if (M == 0 || N == 0) return;
  if (K == 0 || alpha == 0) return scale_matrix(M, N, beta, C, ldc);
  A = rows_for_tma<struct AlignedA>(A, M, K, lda);
  B = rows_for_tma<struct AlignedB>(B, K, N, ldb);
  const auto tiles_m = static_cast<unsigned>(ceil_div(M, BM)), tiles_n = static_cast<unsigned>(ceil_div(N, BN));
  constexpr int bytes = kStages * sizeof(Stage) + kSwizzleAlignment;
  CUDA_CHECK(cudaFuncSetAttribute(gemm_bf16_wrong_phase, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  gemm_bf16_wrong_phase<<<tiles_m * tiles_n, kThreads, bytes>>>(
      tensor_map(A, M, K, lda, BM), tensor_map(B, K, N, ldb, BK), M, N, static_cast<unsigned>(ceil_div(K, BK)), alpha,
      beta, C, ldc, tiles_m);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(GemmBf16, launch);
