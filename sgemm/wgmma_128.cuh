// Tiles of 128 x 128 by wgmma, for products with too few tiles of 256 x 256. Blocks divide the k of a tile: those of a
// cluster add their sums in distributed shared memory, slices of k in global memory.
#pragma once
#include "hopper.cuh"
#include "launch_cluster.cuh"
#include "products_without_tiles.cuh"
#include "tensor_map.cuh"
#include "tile_of_c.cuh"

constexpr unsigned kSide = 128, kMultiply = 256;    // threads that multiply: two warpgroups
constexpr unsigned kWgmmaThreads = kMultiply + 32;  // and a warp that loads
constexpr int kWgmmaStages = 6;

// W provides T, the element type; Stage, one step along k with 128 bytes per row of A and of each box of B; multiply(),
// all steps of a block; keep(), which stores the sums in shared memory; place(), a sum's column there, conflict-free.
template <typename W>
struct WgmmaShared {
  union {
    typename W::Stage stages[kWgmmaStages];
    float sums[kSide][kSide];  // once all stages have been read
  };
  Barrier full[kWgmmaStages], empty[kWgmmaStages];
};

// Stores c[i] = v + beta c[i] for i = 0, apart, 2 apart, 3 apart below `left`. If beta = 0, c is not read. With apart =
// 1, c must be aligned to 4 elements.
template <typename Out>
__device__ inline void store_four(Out* c, const float (&v)[4], float beta, unsigned left, unsigned apart) {
  struct alignas(4 * sizeof(Out)) Four {
    Out x[4];
  };
  if (apart == 1 && left >= 4 && beta == 0) {
    *reinterpret_cast<Four*>(c) = {Out(v[0]), Out(v[1]), Out(v[2]), Out(v[3])};
    return;
  }
#pragma unroll
  for (unsigned x = 0; x < 4; ++x) {
    Out& to = c[x * apart];
    if (x * apart < left) to = Out(beta == 0 ? v[x] : v[x] + beta * static_cast<float>(to));
  }
}

// A cluster of kParts blocks computes one tile over one slice of k. Each block multiplies its part of the steps, then
// adds and stores its part of the rows. Slice s goes to C + s M N.
template <typename W, unsigned kParts, typename Out>
__global__ void __launch_bounds__(kWgmmaThreads, 1)
    gemm_wgmma_128(const __grid_constant__ CUtensorMap A, const __grid_constant__ CUtensorMap B, unsigned M, unsigned N,
                   unsigned steps, float alpha, float beta, Out* __restrict__ C, std::size_t ldc, unsigned tiles_m,
                   unsigned tiles_n, unsigned slices, bool aligned) {
  extern __shared__ unsigned char memory[];
  auto& shared = swizzle_aligned<WgmmaShared<W>>(memory);
  const unsigned tid = threadIdx.x, lane = tid % 32, part = kParts > 1 ? cluster_rank() : 0;
  const unsigned cluster = blockIdx.x / kParts, slice = cluster % slices;
  const Tile at = tile_place(cluster / slices, tiles_m, tiles_n);
  const unsigned row = at.row * kSide, col = at.col * kSide;
  const std::size_t pieces = slices * kParts, piece = slice * kParts + part;
  const auto begin = static_cast<unsigned>(steps * piece / pieces);
  const unsigned count = static_cast<unsigned>(steps * (piece + 1) / pieces) - begin;

  if (tid >= kMultiply) {
    if (lane == 0) {
      for (Barrier& barrier : shared.full) mbarrier_init(&barrier, 1);
      for (Barrier& barrier : shared.empty) mbarrier_init(&barrier, kMultiply / 32);
      mbarrier_init_fence();
    }
    named_barrier_arrive<kWgmmaThreads>(1);
    for (unsigned step = 0; step < count && lane == 0; ++step) {
      constexpr unsigned elements = 128 / sizeof(typename W::T);  // of a row of a box
      typename W::Stage& to = shared.stages[step % kWgmmaStages];
      Barrier* full = &shared.full[step % kWgmmaStages];
      mbarrier_wait(&shared.empty[step % kWgmmaStages], step / kWgmmaStages % 2 ^ 1);  // no wait in the first round
      mbarrier_arrive_expect(full, sizeof(to));
      const unsigned k = (begin + step) * elements;
      tma_load(to.A, &A, k, row, full);
      for (unsigned b = 0; b < kSide / elements; ++b) tma_load(to.B[b], &B, col + elements * b, k, full);
    }
  } else {
    named_barrier<kWgmmaThreads>(1);  // the mbarriers are initialised
    float acc[64];
    W::multiply(
        acc, shared.stages, count,
        [&](unsigned step) { mbarrier_wait(&shared.full[step % kWgmmaStages], step / kWgmmaStages % 2); },
        [&](unsigned step) {
          if (lane == 0) mbarrier_arrive(&shared.empty[step % kWgmmaStages]);
        });
    named_barrier<kMultiply>(2);  // both warpgroups have read the last stage
    W::keep(acc, shared.sums);
  }
  kParts > 1 ? cluster_sync() : __syncthreads();

  // add the blocks' sums in block order, a row per warp; a lane has 4 neighbours, or every 32nd column if unaligned
  constexpr unsigned kWarps = kMultiply / 32, kRows = kSide / kParts / kWarps;
  const unsigned first = part * (kSide / kParts) + tid / 32;
  const unsigned c = aligned ? lane * 4 : lane, apart = aligned ? 1 : 32;
  float sum[kRows][4] = {};
  if (tid < kMultiply) {
#pragma unroll
    for (unsigned p = 0; p < kParts; ++p) {
      const auto& sums = *(kParts > 1 ? in_block(&shared.sums, p) : &shared.sums);
#pragma unroll
      for (unsigned r = 0; r < kRows; ++r) {
        const unsigned i = first + r * kWarps;
        if (aligned) {
          const float4 v = *reinterpret_cast<const float4*>(&sums[i][W::place(i, c)]);
          sum[r][0] += v.x, sum[r][1] += v.y, sum[r][2] += v.z, sum[r][3] += v.w;
        } else {
          for (unsigned x = 0; x < 4; ++x) sum[r][x] += sums[i][W::place(i, c + x * 32)];
        }
      }
    }
  }
  if (kParts > 1) cluster_arrive();
  if (tid < kMultiply) {
    C += static_cast<std::size_t>(slice) * M * N;
#pragma unroll
    for (unsigned r = 0; r < kRows; ++r) {
      const unsigned m = row + first + r * kWarps, n = col + c;
      for (float& v : sum[r]) v *= alpha;
      if (m < M && n < N) store_four(&C[m * ldc + n], sum[r], beta, N - n, apart);
    }
  }
  if (kParts > 1) cluster_wait();  // the other blocks may still read this block's sums
}

// Does not add the slices. kParts is halved until each block has a step and one cluster per tile can be resident.
template <typename W, unsigned kParts, typename Out>
void launch_wgmma_128(const Product<typename W::T>& p, unsigned slices, float alpha, float beta, Out* C,
                      std::size_t ldc) {
  using T = typename W::T;
  constexpr unsigned elements = 128 / sizeof(T), bytes = sizeof(WgmmaShared<W>) + kSwizzleAlignment;
  const auto tiles_m = static_cast<unsigned>(ceil_div(p.M, kSide)),
             tiles_n = static_cast<unsigned>(ceil_div(p.N, kSide));
  const auto steps = static_cast<unsigned>(ceil_div(p.K, elements));
  ClusterLaunch launch(gemm_wgmma_128<W, kParts, Out>, kParts, kWgmmaThreads, bytes);
  if constexpr (kParts > 1) {
    if (steps < kParts || launch.resident() < tiles_m * tiles_n) {
      return launch_wgmma_128<W, kParts / 2>(p, slices, alpha, beta, C, ldc);
    }
  }
  std::size_t lda = p.lda, ldb = p.ldb;
  const T* A = rows_for_tma<struct AlignedA>(p.A, p.M, p.K, lda);
  const T* B = rows_for_tma<struct AlignedB>(p.B, p.K, p.N, ldb);
  launch.start(tiles_m * tiles_n * slices, tensor_map(A, p.M, p.K, lda, kSide), tensor_map(B, p.K, p.N, ldb, elements),
               p.M, p.N, steps, alpha, beta, C, ldc, tiles_m, tiles_n, slices, aligned_for<uint4>(C) && ldc % 4 == 0);
}

// M, N, K and alpha must not be 0, here and below.
template <typename W>
void launch_wgmma_cluster(const Product<typename W::T>& p) {
  launch_wgmma_128<W, 8>(p, 1, p.alpha, p.beta, p.C, p.ldc);
}

// Returns the number of slices of at least 4 steps that the GPU runs at once. Below 2, there is nothing to split.
template <typename T>
std::size_t wgmma_slices(const Product<T>& p) {
  return std::min(sm_count() / (ceil_div(p.M, kSide) * ceil_div(p.N, kSide)), p.K * sizeof(T) / (4 * 128));
}
template <typename W>
void launch_wgmma_slices(const Product<typename W::T>& p) {
  const auto slices = static_cast<unsigned>(wgmma_slices(p));
  float* partials = scratch<float, struct GemmSlices>(slices * p.M * p.N);
  launch_wgmma_128<W, 1>(p, slices, 1, 0, partials, p.N);
  add_slices(p, slices, partials);
}
