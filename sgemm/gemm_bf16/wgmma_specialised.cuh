// The kernel of step 05 of gemm_bf16, which step 07 takes for large products.
#pragma once
#include "wgmma_tile.cuh"
#include "../add_slices.cuh"
#include "../gemm_shapes.hpp"
#include "../scaled_matrix.cuh"
#include "../store_sums.cuh"
#include "tensor_map.cuh"

constexpr unsigned kThreads = 3 * 128;  // a warpgroup that loads, two that multiply 64 rows each
constexpr unsigned kCluster = 2;        // blocks one below the other
constexpr int kStages = 4;
constexpr int kSide = 32;  // columns that a warp stores at a time, where TMA does not

struct Shared {
  Stage stages[kStages];
  union {
    __nv_bfloat16 C[2][2][64][64];          // for each warpgroup two boxes on their way out
    float sums[8][16 * kSumsPitch<kSide>];  // for each warp 16 rows of a part of its sums
  };
  Barrier full[kStages], empty[kStages];
};

// alpha acc as BF16, to C by TMA: 4 boxes of 64 x 64, two at a time.
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
    if (tid == 0) tma_store_wait_read<1>();  // the last box but one has been read
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

// to = alpha acc + beta to, for the first `rows` of a warp's 16 rows and the first `cols` columns: by shared memory, so
// that neighbouring lanes store neighbours. `pairs`: even columns are aligned to two elements.
template <typename T>
__device__ static void store_by_rows(const float (&acc)[128], float alpha, float* sums, T* to, std::size_t ld, int rows,
                                     int cols, float beta, bool pairs) {
  const unsigned lane = threadIdx.x % 32;
#pragma unroll
  for (int col = 0; col < BN; col += kSide) {
    __syncwarp();  // the columns before have been stored
#pragma unroll
    for (int j = 0; j < kSide; j += 8) {
      const int x = (col + j) / 2;
      float* at = &sums[lane / 4 * kSumsPitch<kSide> + j + lane % 4 * 2];
      reinterpret_cast<float2&>(*at) = make_float2(acc[x], acc[x + 1]);
      reinterpret_cast<float2&>(at[8 * kSumsPitch<kSide>]) = make_float2(acc[x + 2], acc[x + 3]);
    }
    __syncwarp();
    pairs ? store_sums<kSide, 2>(sums, to + col, ld, rows, cols - col, alpha, beta)
          : store_sums<kSide, 1>(sums, to + col, ld, rows, cols - col, alpha, beta);
  }
}

// Where results go: to C by TMA, where beta is 0 and C has a map; to C by the warps, row by row; or sums of slices of
// k to `partials`, whose element (slice * M + row) * N + column they are.
enum class Output { tma, threads, slices };

// k is cut into `slices` of slice_steps, the last one shorter, only if kOutput says so.
template <Output kOutput>
__global__ void __cluster_dims__(kCluster) __launch_bounds__(kThreads, 1)
    gemm_bf16_specialised(const __grid_constant__ CUtensorMap A, const __grid_constant__ CUtensorMap B,
                          const __grid_constant__ CUtensorMap C_map, unsigned M, unsigned N, unsigned steps,
                          float alpha, float beta, __nv_bfloat16* __restrict__ C, std::size_t ldc, unsigned clusters_m,
                          unsigned tiles_n, bool pairs, unsigned slices, unsigned slice_steps,
                          float* __restrict__ partials) {
  extern __shared__ unsigned char memory[];
  Shared& shared = swizzle_aligned<Shared>(memory);
  const unsigned tid = threadIdx.x, rank = cluster_rank();
  constexpr bool kSliced = kOutput == Output::slices;
  const unsigned tiles = clusters_m * tiles_n * (kSliced ? slices : 1), first = blockIdx.x / kCluster,
                 clusters = gridDim.x / kCluster;
  const auto place = [&](unsigned tile) {  // row and column of this block's part of it
    const uint2 at = tile_place<8>(kSliced ? tile / slices : tile, clusters_m, tiles_n);
    return make_uint2((at.x * kCluster + rank) * BM, at.y * BN);
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
        tma_load(to.A, &A, step * BK, row, full);
        for (unsigned b = rank; b < BN / 64; b += kCluster) {
          tma_load_multicast(to.B[b], &B, col + 64 * b, step * BK, full, (1 << kCluster) - 1);
        }
      }
    }
  } else {
    registers_increase<232>();
    const unsigned warpgroup = tid / 128 - 1, lane = tid % 32;
    const auto release = [&](unsigned stage) {  // in both blocks, for both write to it
      if (lane < kCluster) mbarrier_arrive_at(&shared.empty[stage], lane);
    };
    for (unsigned tile = first; tile < tiles; tile += clusters) {
      float acc[128];
      const auto [begin, end] = steps_of(tile);
      for (unsigned step = begin; step < end; ++step, ++turn) {
        mbarrier_wait(&shared.full[turn % kStages], turn / kStages % 2);
        multiply(acc, shared.stages[turn % kStages], warpgroup, step == begin);
        wgmma_wait<1>(acc);
        if (step > begin) release((turn - 1) % kStages);
      }
      wgmma_wait<0>(acc);
      release((turn - 1) % kStages);

      const auto [row, col] = place(tile);
      if constexpr (kOutput == Output::tma) {
        store_by_tma(acc, alpha, shared.C[warpgroup], &C_map, row + warpgroup * 64, col);
      } else {
        const unsigned warp = tid / 32 - 4, i = row + warp * 16;
        float* sums = shared.sums[warp];
        const int rows = static_cast<int>(min(M - min(i, M), 16u)), cols = static_cast<int>(min(N - col, unsigned{BN}));
        if constexpr (kSliced) {
          float* to = &partials[(static_cast<std::size_t>(tile % slices) * M + i) * N + col];
          store_by_rows(acc, 1, sums, to, N, rows, cols, 0, pairs);
        } else {
          store_by_rows(acc, alpha, sums, &C[i * ldc + col], ldc, rows, cols, beta, pairs);
        }
      }
    }
    if (kOutput == Output::tma && tid % 128 == 0)
      tma_store_wait_read<0>();  // the boxes are read before the block's memory is gone
  }
  cluster_sync();  // the other block may still arrive here
}

// kMaySlice: k is cut into slices where tiles are few.
template <bool kMaySlice>
static void launch_specialised(std::size_t M, std::size_t N, std::size_t K, float alpha, const __nv_bfloat16* A,
                               std::size_t lda, const __nv_bfloat16* B, std::size_t ldb, float beta, __nv_bfloat16* C,
                               std::size_t ldc) {
  if (M == 0 || N == 0) return;
  if (K == 0 || alpha == 0) return scale_matrix(M, N, beta, C, ldc);
  A = rows_for_tma<struct AlignedA>(A, M, K, lda);
  B = rows_for_tma<struct AlignedB>(B, K, N, ldb);
  const auto clusters_m = static_cast<unsigned>(ceil_div(M, BM * kCluster));
  const auto tiles_n = static_cast<unsigned>(ceil_div(N, BN)), steps = static_cast<unsigned>(ceil_div(K, BK));
  const unsigned tiles = clusters_m * tiles_n, resident = sm_count() / kCluster;
  const auto wanted = static_cast<unsigned>(kMaySlice ? wgmma_slices(tiles, sm_count(), K * sizeof(*A), M, N) : 1);
  const unsigned slice_steps = ceil_div(steps, wanted), slices = ceil_div(steps, slice_steps);
  const unsigned grid = std::min(tiles * slices, resident) * kCluster;
  const bool pairs = slices > 1 ? N % 2 == 0 : has_pairs(C, ldc);
  const bool by_tma = slices == 1 && beta == 0 && tma_stores(C, N, ldc);
  constexpr Output kOfSlices = kMaySlice ? Output::slices : Output::threads;  // where k is not cut, slices is 1
  const auto kernel = slices > 1 ? gemm_bf16_specialised<kOfSlices>
                      : by_tma   ? gemm_bf16_specialised<Output::tma>
                                 : gemm_bf16_specialised<Output::threads>;
  float* partials = slices > 1 ? scratch<float, struct GemmSlices>(slices * M * N) : nullptr;
  constexpr int bytes = sizeof(Shared) + kSwizzleAlignment;
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  kernel<<<grid, kThreads, bytes>>>(tensor_map(A, M, K, lda, BM), tensor_map(B, K, N, ldb, BK),
                                    by_tma ? tensor_map(C, M, N, ldc, 64) : CUtensorMap{}, M, N, steps, alpha, beta, C,
                                    ldc, clusters_m, tiles_n, pairs, slices, slice_steps, partials);
  CUDA_CHECK(cudaGetLastError());
  if constexpr (kMaySlice) {
    if (slices > 1) launch_add_slices(M, N, alpha, beta, C, ldc, slices, partials);
  }
}
