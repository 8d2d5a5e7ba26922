// Problem:  in step 01 each block reads the residual only when its products are done, and waits for it.
// Idea:     linear 05, but during the main loop TMA loads the residual's boxes to where C is staged. The epilogue reads
//           them by ldmatrix, adds, and writes the sums back by stmatrix. The boxes take a stage: 3 are left of 4.
// Expect:   0.9 to 1.0x cuBLASLt at 4096^3, and within 5 % of linear 05 from that size on: without GELU the epilogue
//           has about 5 instructions per element, but there is one stage fewer, and the bias is loaded as before.
// Measured: 3.73x step 01, 0.92x cuBLASLt at 4096 (H200).
// Next:     two GPUs have half of k each. Who adds bias and residual? (One of them, before the sum over GPUs.)
// needs: sm_90a
#include "layer_by_tma.cuh"
#include "linear_residual.cuh"
#include "tensor_core.cuh"
#include "wgmma_nk.cuh"
#include "without_product.cuh"
#include "../tile_of_c.cuh"

constexpr int BM = 128, BN = 256, BK = 64;
constexpr int kThreads = 3 * 128;  // one warpgroup loads, two multiply 64 rows each
constexpr int kStages = 3;

// One step along k, as TMA copies it: rows of 128 bytes, swizzled.
struct Stage {
  __nv_bfloat16 A[BM][BK];
  __nv_bfloat16 W[BN][BK];
};
constexpr unsigned kGroupOfRows = 8 * 128;  // bytes; the swizzle repeats after 8 rows

struct Shared {
  Stage stages[kStages];
  union {
    __nv_bfloat16 C[2][4][64][64];       // a warpgroup's boxes: the residual, then C
    float sums[8][16 * kSumsPitch<32>];  // where TMA cannot store: 32 columns of sums per warp
  };
  Barrier full[kStages], empty[kStages], residual[2];
};

// Computes acc += bias. Per 8 columns a lane has two neighbours, in two rows. `left` columns are in C.
__device__ static void add_bias(float (&acc)[128], const __nv_bfloat16* bias, int left) {
  bias += threadIdx.x % 4 * 2;
  left -= threadIdx.x % 4 * 2;
#pragma unroll
  for (int x = 0; x < 128; x += 4) {
    const int j = x / 4 * 8;
    const float b0 = j < left ? __bfloat162float(bias[j]) : 0.0f;
    const float b1 = j + 1 < left ? __bfloat162float(bias[j + 1]) : 0.0f;
    acc[x] += b0, acc[x + 1] += b1, acc[x + 2] += b0, acc[x + 3] += b1;
  }
}

// Stores C = acc + residual: 64 rows in 4 boxes of 64 columns, by TMA. The whole warpgroup must call it.
__device__ static void add_and_store(const float (&acc)[128], __nv_bfloat16 (&boxes)[4][64][64], const CUtensorMap* C,
                                     unsigned row, unsigned col) {
  const unsigned tid = threadIdx.x % 128, box_row = tid / 32 * 16 + tid % 16;
  const auto sum = [&](int x, unsigned before) {  // the element with the lower index is in the lower half
    const __nv_bfloat162 both = __floats2bfloat162_rn(acc[x] + __uint_as_float(before << 16),
                                                      acc[x + 1] + __uint_as_float(before & 0xffff0000u));
    return *reinterpret_cast<const unsigned*>(&both);
  };
#pragma unroll
  for (int b = 0; b < 4; ++b) {
#pragma unroll
    for (int x = 32 * b; x < 32 * (b + 1); x += 8) {
      const unsigned chunk = x % 32 / 4 + tid % 32 / 16;
      __nv_bfloat16* place = &boxes[b][box_row][(chunk ^ box_row % 8) * 8];
      unsigned before[4];  // ldmatrix gives a lane the elements that stmatrix takes from it
      ldmatrix_x4(before, place);
      stmatrix_x4(place, sum(x, before[0]), sum(x + 2, before[1]), sum(x + 4, before[2]), sum(x + 6, before[3]));
    }
    fence_async_proxy();
    named_barrier<128>(threadIdx.x / 128);
    if (tid == 0) {
      tma_store(boxes[b], C, col + 64 * b, row);
      tma_store_commit();
    }
  }
}

// kByTma: TMA can load and store C. Otherwise its rows are unaligned, and threads load and store them.
template <bool kByTma>
__global__ void __launch_bounds__(kThreads, 1)
    linear_residual_staged(const __grid_constant__ CUtensorMap A, const __grid_constant__ CUtensorMap W,
                           const __grid_constant__ CUtensorMap C_map, const __nv_bfloat16* __restrict__ bias,
                           __nv_bfloat16* __restrict__ C, unsigned M, unsigned N, unsigned steps, unsigned tiles_m,
                           unsigned tiles_n) {
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
    for (Barrier& barrier : shared.residual) mbarrier_init(&barrier, 1);
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
        tma_load(to.W, &W, step * BK, col, barrier);
      }
    }
  } else {
    registers_increase<232>();
    const unsigned warpgroup = tid / 128 - 1, warp = tid / 32 - 4;
    const auto release = [&](unsigned turn) {
      if (lane == 0) mbarrier_arrive(&shared.empty[turn % kStages]);
    };
    const auto load_residual = [&](unsigned row, unsigned col) {
      if (tid % 128 == 0) {
        Barrier* barrier = &shared.residual[warpgroup];
        tma_store_wait_read<0>();  // TMA has read the boxes of the previous tile
        mbarrier_arrive_expect(barrier, sizeof(shared.C[0]));
        for (unsigned b = 0; b < BN / 64; ++b) {
          tma_load(shared.C[warpgroup][b], &C_map, col + 64 * b, row + warpgroup * 64, barrier);
        }
      }
      __syncwarp();  // wgmma needs the lanes of a warp converged
    };
    unsigned parity = 0;  // of the residual's barrier
    for (unsigned tile = blockIdx.x; tile < tiles_m * tiles_n; tile += gridDim.x) {
      const auto [row, col] = place(tile);
      float acc[128];
      for (unsigned step = 0; step < steps; ++step, ++turn) {
        mbarrier_wait(&shared.full[turn % kStages], turn / kStages % 2);
        const Stage& from = shared.stages[turn % kStages];
        wgmma_fence();
#pragma unroll
        for (int k = 0; k < BK; k += 16) {
          const std::uint64_t a = wgmma_descriptor(&from.A[warpgroup * 64][k], 0, kGroupOfRows);
          const std::uint64_t w = wgmma_descriptor(&from.W[0][k], 0, kGroupOfRows);
          wgmma_m64n256k16_bf16_nk(acc, a, w, step > 0 || k > 0);
        }
        wgmma_commit();
        if (kByTma && step == 0) load_residual(row, col);
        wgmma_wait<1>(acc);
        if (step > 0) release(turn - 1);
      }
      wgmma_wait<0>(acc);
      release(turn - 1);

      const int left = static_cast<int>(min(N - col, unsigned{BN}));  // columns
      add_bias(acc, bias + col, left);
      if constexpr (kByTma) {
        mbarrier_wait(&shared.residual[warpgroup], parity);
        add_and_store(acc, shared.C[warpgroup], &C_map, row + warpgroup * 64, col);
        parity ^= 1;
      } else {
        const unsigned i = row + warp * 16;
        store_rows<BN, 32>(acc, shared.sums[warp], &C[std::size_t{i} * N + col], N,
                           static_cast<int>(min(M - min(i, M), 16u)), left, 1, 1, false);
      }
    }
    if (kByTma && tid % 128 == 0) tma_store_wait_read<0>();  // TMA has read the boxes before the block exits
  }
}

static void launch(const __nv_bfloat16* A, const __nv_bfloat16* W, const __nv_bfloat16* bias, __nv_bfloat16* C,
                   std::size_t M, std::size_t N, std::size_t K) {
  if (M == 0 || N == 0) return;
  if (K == 0) return without_product<true>(bias, C, M, N);
  std::size_t lda = K, ldw = K;
  A = rows_for_tma<struct AlignedA>(A, M, K, lda);
  W = rows_for_tma<struct AlignedW>(W, N, K, ldw);
  const auto tiles_m = static_cast<unsigned>(ceil_div(M, BM)), tiles_n = static_cast<unsigned>(ceil_div(N, BN));
  const auto steps = static_cast<unsigned>(ceil_div(K, BK));
  const unsigned grid = std::min(tiles_m * tiles_n, static_cast<unsigned>(sm_count()));
  const bool by_tma = tma_stores(C, N, N);
  const auto kernel = by_tma ? linear_residual_staged<true> : linear_residual_staged<false>;
  constexpr int bytes = sizeof(Shared) + kSwizzleAlignment;
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  kernel<<<grid, kThreads, bytes>>>(tensor_map(A, M, K, lda, BM), tensor_map(W, N, K, ldw, BN),
                                    by_tma ? tensor_map(C, M, N, N, 64) : CUtensorMap{}, bias, C, M, N, steps, tiles_m,
                                    tiles_n);
  CUDA_CHECK(cudaGetLastError());
}

using LinearResidualByTma = LayerByTma<LinearResidual, true>;
LADDER_STEP(LinearResidualByTma, launch);
