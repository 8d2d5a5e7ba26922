// The kernel of step 02 of sgemm_tf32, which step 04 takes for large products.
#pragma once
#include "wgmma_tf32_tile.cuh"
#include "../add_slices.cuh"
#include "../gemm_shapes.hpp"
#include "../scaled_matrix.cuh"
#include "tensor_map.cuh"

constexpr unsigned kThreads = 3 * 128;  // a warpgroup that loads, two that multiply 64 columns each
constexpr unsigned kCluster = 2;        // blocks side by side
constexpr int kStages = 4;

struct Shared {
  Stage stages[kStages];
  Barrier full[kStages], empty[kStages];
};

// kSliced: k is cut into `slices` of slice_steps, the last one shorter. Their sums go to `partials`, whose element
// (slice * M + row) * N + column they are.
template <bool kSliced>
__global__ void __cluster_dims__(kCluster) __launch_bounds__(kThreads, 1)
    sgemm_tf32_wgmma_tma(const __grid_constant__ CUtensorMap A, const __grid_constant__ CUtensorMap B, unsigned M,
                         unsigned N, unsigned steps, float alpha, float beta, float* __restrict__ C, std::size_t ldc,
                         unsigned tiles_m, unsigned clusters_n, bool pairs, unsigned slices, unsigned slice_steps,
                         float* __restrict__ partials) {
  extern __shared__ unsigned char memory[];
  Shared& shared = swizzle_aligned<Shared>(memory);
  const unsigned tid = threadIdx.x, rank = cluster_rank();
  const unsigned tiles = tiles_m * clusters_n * (kSliced ? slices : 1), first = blockIdx.x / kCluster,
                 clusters = gridDim.x / kCluster;
  const auto place = [&](unsigned tile) {  // row and column of this block's part of it
    const uint2 at = tile_place<8>(kSliced ? tile / slices : tile, clusters_n, tiles_m);
    return make_uint2(at.y * BM, (at.x * kCluster + rank) * BN);
  };
  const auto steps_of = [&](unsigned tile) {  // from ... to
    if (!kSliced) return make_uint2(0, steps);
    const unsigned begin = tile % slices * slice_steps;
    return make_uint2(begin, min(begin + slice_steps, steps));
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
    for (unsigned tile = first; tile < tiles && tid == 0; tile += clusters) {
      const auto [row, col] = place(tile);
      const auto [begin, end] = steps_of(tile);
      for (unsigned step = begin; step < end; ++step, ++turn) {
        Stage& to = shared.stages[turn % kStages];
        Barrier* full = &shared.full[turn % kStages];
        mbarrier_wait(&shared.empty[turn % kStages], turn / kStages % 2 ^ 1);  // does not wait in the first round
        mbarrier_arrive_expect(full, sizeof(Stage));
        for (unsigned b = 0; b < BN / 32; ++b) tma_load(to.B[b], &B, col + 32 * b, step * BK, full);
        constexpr unsigned half = BM / kCluster;
        tma_load_multicast(to.A[rank * half], &A, step * BK, row + rank * half, full, (1 << kCluster) - 1);
      }
    }
  } else {
    registers_increase<232>();
    const unsigned lane = tid % 32;
    const Columns columns(tid / 128 - 1, tid / 32 % 4, lane);
    for (unsigned tile = first; tile < tiles; tile += clusters) {
      const auto [begin, end] = steps_of(tile);
      float acc[128], operands[2][BK / 8][4];
      const auto read = [&](float(&to)[BK / 8][4]) {
        mbarrier_wait(&shared.full[turn % kStages], turn / kStages % 2);
        columns.read(to, shared.stages[turn % kStages], lane);
      };
      const auto release = [&](unsigned stage) {  // in both blocks, for both write to it
        if (lane < kCluster) mbarrier_arrive_at(&shared.empty[stage], lane);
      };
      // Two steps at a time, for each array is indexed by constants: while one's wgmmas run, the other's are read.
      read(operands[0]);
      for (unsigned step = begin; step < end; step += 2) {
        multiply(acc, operands[0], shared.stages[turn % kStages], step == begin);
        wgmma_wait<1>(acc);
        if (step > begin) release((turn - 1) % kStages);
        ++turn;
        if (step + 1 < end) {
          read(operands[1]);
          multiply(acc, operands[1], shared.stages[turn % kStages], false);
          wgmma_wait<1>(acc);
          release((turn - 1) % kStages);
          ++turn;
          if (step + 2 < end) read(operands[0]);
        }
      }
      wgmma_wait<0>(acc);
      release((turn - 1) % kStages);

      const auto [row, col] = place(tile);
      const unsigned n = col + columns.first();
#pragma unroll
      for (unsigned x = 0; x < 64; ++x) {  // acc[4 j] and [4 j + 2] are neighbours in C, [4 j + 1] and [4 j + 3] below
        const unsigned m = row + x / 2 * 8 + lane % 4 * 2 + x % 2, from = x / 2 * 4 + x % 2;
        if (m >= M || n >= N) continue;
        if (kSliced) {
          float* to = &partials[(static_cast<std::size_t>(tile % slices) * M + m) * N + n];
          store_pair(to, acc[from], acc[from + 2], 0, n + 1 < N, pairs);
        } else {
          store_pair(&C[m * ldc + n], alpha * acc[from], alpha * acc[from + 2], beta, n + 1 < N, pairs);
        }
      }
    }
  }
  cluster_sync();  // the other block may still arrive here
}

// kMaySlice: k is cut into slices where tiles are few.
template <bool kMaySlice>
static void launch_wgmma_tf32(std::size_t M, std::size_t N, std::size_t K, float alpha, const float* A, std::size_t lda,
                              const float* B, std::size_t ldb, float beta, float* C, std::size_t ldc) {
  if (M == 0 || N == 0) return;
  if (K == 0 || alpha == 0) return scale_matrix(M, N, beta, C, ldc);
  A = rows_for_tma<struct AlignedA>(A, M, K, lda);
  B = rows_for_tma<struct AlignedB>(B, K, N, ldb);
  const auto tiles_m = static_cast<unsigned>(ceil_div(M, BM)), steps = static_cast<unsigned>(ceil_div(K, BK));
  const auto clusters_n = static_cast<unsigned>(ceil_div(N, BN * kCluster));
  const unsigned tiles = tiles_m * clusters_n, resident = sm_count() / kCluster;
  const auto wanted = static_cast<unsigned>(kMaySlice ? wgmma_slices(tiles, sm_count(), K * sizeof(*A), M, N) : 1);
  const unsigned slice_steps = ceil_div(steps, wanted), slices = ceil_div(steps, slice_steps);
  const unsigned grid = std::min(tiles * slices, resident) * kCluster;
  const bool pairs = slices > 1 ? N % 2 == 0 : has_pairs(C, ldc);
  const auto kernel = kMaySlice && slices > 1 ? sgemm_tf32_wgmma_tma<kMaySlice> : sgemm_tf32_wgmma_tma<false>;
  float* partials = slices > 1 ? scratch<float, struct GemmSlices>(slices * M * N) : nullptr;
  constexpr int bytes = sizeof(Shared) + kSwizzleAlignment;
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  kernel<<<grid, kThreads, bytes>>>(tensor_map(A, M, K, lda, BM / kCluster), tensor_map(B, K, N, ldb, BK), M, N, steps,
                                    alpha, beta, C, ldc, tiles_m, clusters_n, pairs, slices, slice_steps, partials);
  CUDA_CHECK(cudaGetLastError());
  if constexpr (kMaySlice) {
    if (slices > 1) launch_add_slices(M, N, alpha, beta, C, ldc, slices, partials);
  }
}
