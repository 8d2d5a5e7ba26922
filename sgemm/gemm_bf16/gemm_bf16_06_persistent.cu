// Problem:  in step 05 the tensor cores idle between tiles, and four lanes store only 16 contiguous bytes of a row.
// Idea:     persistent blocks, one per SM: the next tile's stages load while this one is stored, by stmatrix and TMA.
// Expect:   0.97 to 1.0x cuBLAS at 4096: 512 tiles on 132 SMs are 3.9 waves, which take 4; cuBLAS has that limit too.
// Measured: 1.11x step 05, 1.00x cuBLAS at 4096 (H200); 1.14x, 1.00x (H100).
// Next:     blocks on neighbouring SMs read the same columns of B. Could one copy from L2 serve both? (Multicast.)
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

struct Shared {
  Stage stages[kStages];
  union {
    __nv_bfloat16 C[2][2][64][64];       // two boxes per warpgroup, which TMA stores
    float sums[8][16 * kSumsPitch<32>];  // where TMA cannot store: 32 columns of sums per warp
  };
  Barrier full[kStages], empty[kStages];
};

// Stores alpha acc as BF16 by TMA: 64 rows in 4 boxes of 64 columns, two at a time. The whole warpgroup must call it.
__device__ static void store_by_tma(const float (&acc)[128], float alpha, __nv_bfloat16 (&boxes)[2][64][64],
                                    const CUtensorMap* C, unsigned row, unsigned col) {
  const unsigned tid = threadIdx.x % 128, box_row = tid / 32 * 16 + tid % 16;
  const auto pair = [&](int x) {
    const __nv_bfloat162 both = __floats2bfloat162_rn(alpha * acc[x], alpha * acc[x + 1]);
    return *reinterpret_cast<const unsigned*>(&both);
  };
#pragma unroll
  for (int b = 0; b < 4; ++b) {
    __nv_bfloat16(&box)[64][64] = boxes[b % 2];
    if (tid == 0) tma_store_wait_read<1>();  // TMA has read this box, which was used two boxes ago
    named_barrier<128>(threadIdx.x / 128);
#pragma unroll
    for (int x = 32 * b; x < 32 * (b + 1); x += 8) {
      const unsigned chunk = x % 32 / 4 + tid % 32 / 16;
      stmatrix_x4(&box[box_row][(chunk ^ box_row % 8) * 8], pair(x), pair(x + 2), pair(x + 4), pair(x + 6));
    }
    fence_async_proxy();
    named_barrier<128>(threadIdx.x / 128);
    if (tid == 0) {
      tma_store(box, C, col + 64 * b, row);
      tma_store_commit();
    }
  }
}

// kByTma: beta is 0, and TMA can store C. Otherwise threads store it, row by row.
template <bool kByTma>
__global__ void __launch_bounds__(kThreads, 1)
    gemm_bf16_persistent(const __grid_constant__ CUtensorMap A, const __grid_constant__ CUtensorMap B,
                         const __grid_constant__ CUtensorMap C_map, unsigned M, unsigned N, unsigned steps, float alpha,
                         float beta, __nv_bfloat16* __restrict__ C, std::size_t ldc, unsigned tiles_m, unsigned tiles_n,
                         bool aligned) {
  extern __shared__ unsigned char memory[];
  Shared& shared = swizzle_aligned<Shared>(memory);
  const unsigned tid = threadIdx.x, lane = tid % 32;
  const auto place = [&](unsigned tile) {  // row and column of a tile
    const Tile at = tile_place(tile, tiles_m, tiles_n);
    return make_uint2(at.row * BM, at.col * BN);
  };

  if (tid == 0) {
    for (Barrier& barrier : shared.full) mbarrier_init(&barrier, 1);
    for (Barrier& barrier : shared.empty) mbarrier_init(&barrier, 8);  // the warps that multiply
    mbarrier_init_fence();
  }
  __syncthreads();

  unsigned turn = 0;  // steps of all tiles so far
  if (tid < 128) {
    registers_decrease<40>();
    for (unsigned tile = blockIdx.x; tile < tiles_m * tiles_n && tid == 0; tile += gridDim.x) {
      const auto [row, col] = place(tile);
      for (unsigned step = 0; step < steps; ++step, ++turn) {
        Stage& to = shared.stages[turn % kStages];
        Barrier* barrier = &shared.full[turn % kStages];
        mbarrier_wait(&shared.empty[turn % kStages], turn / kStages % 2 ^ 1);  // does not wait in the first round
        mbarrier_arrive_expect(barrier, sizeof(Stage));
        tma_load(to.A, &A, step * BK, row, barrier);
        for (unsigned b = 0; b < BN / 64; ++b) tma_load(to.B[b], &B, col + 64 * b, step * BK, barrier);
      }
    }
  } else {
    registers_increase<232>();
    const unsigned warpgroup = tid / 128 - 1, warp = tid / 32 - 4;
    const auto release = [&](unsigned turn) {
      if (lane == 0) mbarrier_arrive(&shared.empty[turn % kStages]);
    };
    for (unsigned tile = blockIdx.x; tile < tiles_m * tiles_n; tile += gridDim.x) {
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
}

[[maybe_unused]] static void launch_persistent(std::size_t M, std::size_t N, std::size_t K, float alpha,
                                               const __nv_bfloat16* A, std::size_t lda, const __nv_bfloat16* B,
                                               std::size_t ldb, float beta, __nv_bfloat16* C, std::size_t ldc) {
  if (M == 0 || N == 0) return;
  if (K == 0 || alpha == 0) return scale_matrix(M, N, beta, C, ldc);
  A = rows_for_tma<struct AlignedA>(A, M, K, lda);
  B = rows_for_tma<struct AlignedB>(B, K, N, ldb);
  const auto tiles_m = static_cast<unsigned>(ceil_div(M, BM)), tiles_n = static_cast<unsigned>(ceil_div(N, BN));
  const auto steps = static_cast<unsigned>(ceil_div(K, BK));
  const unsigned grid = std::min(tiles_m * tiles_n, static_cast<unsigned>(sm_count()));
  const bool by_tma = beta == 0 && tma_stores(C, N, ldc);
  const auto kernel = by_tma ? gemm_bf16_persistent<true> : gemm_bf16_persistent<false>;
  constexpr int bytes = sizeof(Shared) + kSwizzleAlignment;
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  kernel<<<grid, kThreads, bytes>>>(tensor_map(A, M, K, lda, BM), tensor_map(B, K, N, ldb, BK),
                                    by_tma ? tensor_map(C, M, N, ldc, 64) : CUtensorMap{}, M, N, steps, alpha, beta, C,
                                    ldc, tiles_m, tiles_n, tma_takes(C, ldc));
  CUDA_CHECK(cudaGetLastError());
}

using GemmBf16Tma = WithTma<GemmBf16, __nv_bfloat16, true>;
LADDER_STEP(GemmBf16Tma, launch_persistent);
