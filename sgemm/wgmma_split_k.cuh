// A product on wgmma tiles of 128 x 128, of which the top steps of gemm_bf16 and sgemm_tf32 have more than of 256 x 256.
// k is split over the blocks of a cluster, and their sums meet in distributed shared memory.
#pragma once
#include "gemm_shapes.hpp"
#include "hopper.cuh"
#include "hopper_tiles.cuh"
#include "launch_cluster.cuh"
#include "products_without_tiles.cuh"
#include "tensor_map.cuh"

constexpr unsigned kMultiply = 256;                 // threads: two warpgroups
constexpr unsigned kSplitThreads = kMultiply + 32;  // and a warp that loads
constexpr int kSplitStages = 6;

// A Tile has: T, an element; Stage, one step along k, whose A has all k of a row in 128 bytes and whose B comes in boxes
// of 128 bytes a row; multiply(), all steps of a block; keep(), its results to shared memory; and place(), where there
// a column is, so that a warp's stores meet no bank twice.
template <typename Tile>
struct SplitShared {
  union {
    typename Tile::Stage stages[kSplitStages];
    float sums[kSplitSide][kSplitSide];  // when all stages have been read
  };
  Barrier full[kSplitStages], empty[kSplitStages];
};

// Four elements of C, `apart` from c on, = v + beta c, as far as they are among the `left` last ones of C's row; with
// beta = 0 they are not read. With apart = 1 they are aligned to four elements.
template <typename T>
__device__ inline void store_four(T* c, const float (&v)[4], float beta, unsigned left, unsigned apart) {
  struct alignas(4 * sizeof(T)) Four {
    T x[4];
  };
  if (apart == 1 && left >= 4 && beta == 0) {
    *reinterpret_cast<Four*>(c) = {T(v[0]), T(v[1]), T(v[2]), T(v[3])};
    return;
  }
#pragma unroll
  for (unsigned x = 0; x < 4; ++x) {
    T& to = c[x * apart];
    if (x * apart < left) to = T(beta == 0 ? v[x] : v[x] + beta * static_cast<float>(to));
  }
}

// A cluster of kParts blocks has a tile. Each block multiplies its part of the steps, and adds and stores its part of
// the rows.
template <typename Tile, unsigned kParts>
__global__ void __launch_bounds__(kSplitThreads, 1)
    gemm_split_k(const __grid_constant__ CUtensorMap A, const __grid_constant__ CUtensorMap B, unsigned M, unsigned N,
                 unsigned steps, float alpha, float beta, typename Tile::T* __restrict__ C, std::size_t ldc,
                 unsigned tiles_m, unsigned tiles_n, bool aligned) {
  extern __shared__ unsigned char memory[];
  auto& shared = swizzle_aligned<SplitShared<Tile>>(memory);
  const unsigned tid = threadIdx.x, lane = tid % 32, part = cluster_rank();
  const uint2 at = tile_place<8>(blockIdx.x / kParts, tiles_m, tiles_n);
  const unsigned row = at.x * kSplitSide, col = at.y * kSplitSide;
  const unsigned begin = steps * part / kParts, count = steps * (part + 1) / kParts - begin;

  if (tid >= kMultiply) {
    if (lane == 0) {
      for (Barrier& barrier : shared.full) mbarrier_init(&barrier, 1);
      for (Barrier& barrier : shared.empty) mbarrier_init(&barrier, kMultiply / 32);
      mbarrier_init_fence();
    }
    named_barrier_arrive<kSplitThreads>(1);
    for (unsigned step = 0; step < count && lane == 0; ++step) {
      constexpr unsigned elements = 128 / sizeof(typename Tile::T);  // of a row of a box
      typename Tile::Stage& to = shared.stages[step % kSplitStages];
      Barrier* full = &shared.full[step % kSplitStages];
      mbarrier_wait(&shared.empty[step % kSplitStages], step / kSplitStages % 2 ^ 1);  // not in the first round
      mbarrier_arrive_expect(full, sizeof(to));
      const unsigned k = (begin + step) * elements;
      tma_load(to.A, &A, k, row, full);
      for (unsigned b = 0; b < kSplitSide / elements; ++b) tma_load(to.B[b], &B, col + elements * b, k, full);
    }
  } else {
    named_barrier<kSplitThreads>(1);  // the mbarriers are there
    float acc[64];
    Tile::multiply(
        acc, shared.stages, count,
        [&](unsigned step) { mbarrier_wait(&shared.full[step % kSplitStages], step / kSplitStages % 2); },
        [&](unsigned step) {
          if (lane == 0) mbarrier_arrive(&shared.empty[step % kSplitStages]);
        });
    named_barrier<kMultiply>(2);  // both warpgroups have read the last stage
    Tile::keep(acc, shared.sums);
  }
  kParts > 1 ? cluster_sync() : __syncthreads();

  // A row of the tile for each warp; the sums of all blocks, in their order. A lane has four neighbours, or where C's
  // rows are not aligned every 32nd column, so that neighbouring lanes store neighbours.
  constexpr unsigned kWarps = kMultiply / 32, kRows = kSplitSide / kParts / kWarps;
  const unsigned first = part * (kSplitSide / kParts) + tid / 32;
  const unsigned c = aligned ? lane * 4 : lane, apart = aligned ? 1 : 32;
  float sum[kRows][4] = {};
  if (tid < kMultiply) {
#pragma unroll
    for (unsigned r = 0; r < kRows; ++r) {
      const unsigned i = first + r * kWarps;
#pragma unroll
      for (unsigned p = 0; p < kParts; ++p) {
        if (aligned) {
          const float4 v = *reinterpret_cast<const float4*>(in_block(&shared.sums[i][Tile::place(i, c)], p));
          sum[r][0] += v.x, sum[r][1] += v.y, sum[r][2] += v.z, sum[r][3] += v.w;
        } else {
          for (unsigned x = 0; x < 4; ++x) sum[r][x] += *in_block(&shared.sums[i][Tile::place(i, c + x * 32)], p);
        }
      }
    }
  }
  if (kParts > 1) cluster_arrive();
  if (tid < kMultiply) {
#pragma unroll
    for (unsigned r = 0; r < kRows; ++r) {
      const unsigned m = row + first + r * kWarps, n = col + c;
      for (float& v : sum[r]) v *= alpha;
      if (m < M && n < N) store_four(&C[m * ldc + n], sum[r], beta, N - n, apart);
    }
  }
  if (kParts > 1) cluster_wait();  // the others may still read this block's sums
}

// M, N, K and alpha are not 0.
template <typename Tile>
void launch_split_k(const Product<typename Tile::T>& p) {
  using T = typename Tile::T;
  std::size_t lda = p.lda, ldb = p.ldb;
  const T* A = rows_for_tma<struct AlignedA>(p.A, p.M, p.K, lda);
  const T* B = rows_for_tma<struct AlignedB>(p.B, p.K, p.N, ldb);
  const auto launch = [&](auto number) {
    constexpr unsigned kParts = decltype(number)::value, elements = 128 / sizeof(T);
    const auto tiles_m = static_cast<unsigned>(ceil_div(p.M, kSplitSide));
    const auto tiles_n = static_cast<unsigned>(ceil_div(p.N, kSplitSide));
    const bool aligned = aligned_for<uint4>(p.C) && p.ldc % 4 == 0;
    ClusterLaunch(gemm_split_k<Tile, kParts>, kParts, kSplitThreads, sizeof(SplitShared<Tile>) + kSwizzleAlignment)
        .start(tiles_m * tiles_n, tensor_map(A, p.M, p.K, lda, kSplitSide), tensor_map(B, p.K, p.N, ldb, elements), p.M,
               p.N, ceil_div(p.K, elements), p.alpha, p.beta, p.C, p.ldc, tiles_m, tiles_n, aligned);
  };
  switch (split_k_parts(p.M, p.N, p.K * sizeof(T), sm_count())) {
    case 1:
      return launch(std::integral_constant<unsigned, 1>());
    case 2:
      return launch(std::integral_constant<unsigned, 2>());
    case 4:
      return launch(std::integral_constant<unsigned, 4>());
    default:
      return launch(std::integral_constant<unsigned, 8>());
  }
}
