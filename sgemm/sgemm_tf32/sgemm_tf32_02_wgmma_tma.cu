// Problem:  wgmma reads TF32 from shared memory only where k is contiguous: in rows of A, not in columns of B.
// Idea:     C^T = B^T A^T: wgmma's A operand may be in registers, so threads can read B's elements from the tile in any
//           order. Copies, roles and clusters are those of gemm_bf16 07.
// Expect:   0.95 to 1.0x cuBLAS: shared memory moves 128 bytes per clock, and wgmma, B's reads and TMA need them all.
// Measured: 20x step 01, 1.00x cuBLAS at 4096 (H200); 21x, 0.99x (H100).
// Next:     how do you get FP32's accuracy from TF32 products? (A = big + small, and three products of the parts.)
// needs: sm_90a
#include "hopper.cuh"
#include "launch_cluster.cuh"
#include "sgemm_tf32.cuh"
#include "../scaled_matrix.cuh"
#include "../tile_of_c.cuh"
#include "../with_tma.cuh"

constexpr int BM = 256, BN = 128, BK = 32;
constexpr unsigned kThreads = 3 * 128;  // one warpgroup loads, two multiply 64 columns each
constexpr unsigned kCluster = 2;        // blocks side by side
constexpr int kStages = 4;

// One step along k, as TMA copies it: rows of 128 bytes, swizzled. B comes in boxes of 32 columns.
struct Stage {
  float A[BM][BK];
  float B[BN / 32][BK][32];
};
struct Shared {
  Stage stages[kStages];
  Barrier full[kStages], empty[kStages];
};

// wgmma's A operand has 64 rows, here columns of B: 16 per warp, two per thread. The two may be chosen freely; here
// they are neighbours, read as a float2. A warp reads chunks 0, 1, 4 and 5, or 2, 3, 6 and 7, of 4 rows of B's tile.
// The swizzle puts what each half of the warp reads in different banks.
struct Columns {
  unsigned box, chunk, pair;
  __device__ Columns(unsigned warpgroup, unsigned warp, unsigned lane)
      : box(warpgroup * 2 + warp / 2), chunk(warp % 2 * 2 + lane / 16 + lane / 8 % 2 * 4), pair(lane / 4 % 2) {}
  __device__ unsigned first() const { return box * 32 + chunk * 4 + pair * 2; }  // the first column within the tile
  // Reads the thread's parts of a stage's 4 operands from B, whose chunks TMA has swizzled.
  template <typename Boxes>
  __device__ void read(float (&operands)[BK / 8][4], const Boxes& B, unsigned lane) const {
#pragma unroll
    for (unsigned k = 0; k < BK; k += 4) {
      const unsigned row = k + lane % 4;
      const float2 v = *reinterpret_cast<const float2*>(&B[box][row][(chunk ^ row % 8) * 4 + pair * 2]);
      operands[k / 8][k % 8 / 2] = v.x;
      operands[k / 8][k % 8 / 2 + 1] = v.y;
    }
  }
};

__global__ void __launch_bounds__(kThreads, 1)
    sgemm_tf32_wgmma_tma(const __grid_constant__ CUtensorMap A, const __grid_constant__ CUtensorMap B, unsigned M,
                         unsigned N, unsigned steps, float alpha, float beta, float* __restrict__ C, std::size_t ldc,
                         unsigned tiles_m, unsigned tiles_n, bool pairs) {
  extern __shared__ unsigned char memory[];
  Shared& shared = swizzle_aligned<Shared>(memory);
  const unsigned tid = threadIdx.x, lane = tid % 32;
  // a cluster takes two tiles at a time; tiles_n counts such pairs
  const unsigned rank = cluster_rank(), first = blockIdx.x / kCluster, clusters = gridDim.x / kCluster;
  const auto place = [&](unsigned pair) {  // row and column of this block's tile
    const Tile at = tile_place(pair, tiles_n, tiles_m);
    return make_uint2(at.col * BM, (at.row * kCluster + rank) * BN);
  };

  if (tid == 0) {
    for (Barrier& barrier : shared.full) mbarrier_init(&barrier, 1);
    for (Barrier& barrier : shared.empty) mbarrier_init(&barrier, kCluster * 8);  // the warps that multiply
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
        for (unsigned b = 0; b < BN / 32; ++b) tma_load(to.B[b], &B, col + 32 * b, step * BK, barrier);
        constexpr unsigned half = BM / kCluster;
        tma_load_multicast(to.A[rank * half], &A, step * BK, row + rank * half, barrier, (1 << kCluster) - 1);
      }
    }
  } else {
    registers_increase<232>();
    const Columns columns(tid / 128 - 1, tid / 32 % 4, lane);
    const auto release = [&](unsigned turn) {  // in both blocks, because both producers write this stage
      if (lane < kCluster) mbarrier_arrive_at(&shared.empty[turn % kStages], lane);
    };
    for (unsigned tile = first; tile < tiles_m * tiles_n; tile += clusters) {
      float acc[128], operands[2][BK / 8][4];
      const auto read = [&](float(&to)[BK / 8][4]) {
        mbarrier_wait(&shared.full[turn % kStages], turn / kStages % 2);
        columns.read(to, shared.stages[turn % kStages].B, lane);
      };
      const auto multiply = [&](const float(&from)[BK / 8][4], bool is_first) {
        wgmma_fence();
#pragma unroll
        for (int k = 0; k < BK; k += 8) {
          const std::uint64_t a = wgmma_descriptor(&shared.stages[turn % kStages].A[0][k], 0, 8 * 128);
          wgmma_m64n256k8_tf32_ra_nk(acc, from[k / 8], a, !is_first || k > 0);
        }
        wgmma_commit();
        wgmma_wait<1>(acc);
        if (!is_first) release(turn - 1);
        ++turn;
      };
      // two steps per round, so that array indices are constants: one is read while the other's wgmmas run
      read(operands[0]);
      for (unsigned step = 0; step < steps; step += 2) {
        multiply(operands[0], step == 0);
        if (step + 1 == steps) break;
        read(operands[1]);
        multiply(operands[1], false);
        if (step + 2 < steps) read(operands[0]);
      }
      wgmma_wait<0>(acc);
      release(turn - 1);

      const auto [row, col] = place(tile);
      const unsigned n = col + columns.first();
#pragma unroll
      for (unsigned x = 0; x < 64; ++x) {  // acc[4 j] and [4 j + 2] are neighbours in C, [4 j + 1] and [4 j + 3] below
        const unsigned m = row + x / 2 * 8 + lane % 4 * 2 + x % 2, from = x / 2 * 4 + x % 2;
        if (m < M && n < N) {
          store_pair(&C[m * ldc + n], alpha * acc[from], alpha * acc[from + 2], beta, n + 1 < N, pairs);
        }
      }
    }
  }
  cluster_sync();  // the other block may still arrive at this block's barriers
}

static void launch_wgmma(std::size_t M, std::size_t N, std::size_t K, float alpha, const float* A, std::size_t lda,
                         const float* B, std::size_t ldb, float beta, float* C, std::size_t ldc) {
  if (M == 0 || N == 0) return;
  if (K == 0 || alpha == 0) return scale_matrix(M, N, beta, C, ldc);
  A = rows_for_tma<struct AlignedA>(A, M, K, lda);
  B = rows_for_tma<struct AlignedB>(B, K, N, ldb);
  const auto tiles_m = static_cast<unsigned>(ceil_div(M, BM)), steps = static_cast<unsigned>(ceil_div(K, BK));
  const auto tiles_n = static_cast<unsigned>(ceil_div(N, BN * kCluster));
  ClusterLaunch(sgemm_tf32_wgmma_tma, kCluster, kThreads, sizeof(Shared) + kSwizzleAlignment)
      .start(std::min(tiles_m * tiles_n, sm_count() / kCluster), tensor_map(A, M, K, lda, BM / kCluster),
             tensor_map(B, K, N, ldb, BK), M, N, steps, alpha, beta, C, ldc, tiles_m, tiles_n, has_pairs(C, ldc));
}

using SgemmTf32Tma = WithTma<SgemmTf32, float>;
LADDER_STEP(SgemmTf32Tma, launch_wgmma);
