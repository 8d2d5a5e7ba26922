// Problem:  in step 04 the tensor cores idle between tiles, while bias and GELU are computed and C is stored.
// Idea:     persistent blocks, as in gemm_bf16 06: the next tile's stages load during the epilogue, which stages C in
//           shared memory by stmatrix, and TMA stores it.
// Expect:   1.05 to 1.2x step 04, most if k is short, 0.95 to 1.0x cuBLASLt at 4096^3. The loads overlap the epilogue,
//           but both consumers compute GELU at the same time, and then no wgmma runs.
// Measured: 1.15x step 04, 0.96x cuBLASLt at 4096 (H200).
// Next:     64 rows are one row of tiles, fewer than SMs. What could the idle SMs do? (A slice of k each.)
// needs: sm_90a
#include "gelu_tanh.cuh"
#include "layer_by_tma.cuh"
#include "linear.cuh"
#include "wgmma_nk.cuh"
#include "without_product.cuh"
#include "../tile_of_c.cuh"

constexpr int BM = 128, BN = 256, BK = 64;
constexpr int kThreads = 3 * 128;  // one warpgroup loads, two multiply 64 rows each
constexpr int kStages = 4;

// One step along k, as TMA copies it: rows of 128 bytes, swizzled.
struct Stage {
  __nv_bfloat16 A[BM][BK];
  __nv_bfloat16 W[BN][BK];
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

// Computes acc = gelu(acc + bias). Per 8 columns a lane has two neighbours, in two rows. `left` columns are in C.
__device__ static void bias_gelu(float (&acc)[128], const __nv_bfloat16* bias, int left) {
  bias += threadIdx.x % 4 * 2;
  left -= threadIdx.x % 4 * 2;
#pragma unroll
  for (int x = 0; x < 128; x += 4) {
    const int j = x / 4 * 8;
    const float b0 = j < left ? __bfloat162float(bias[j]) : 0.0f;
    const float b1 = j + 1 < left ? __bfloat162float(bias[j + 1]) : 0.0f;
    acc[x] = gelu_tanh(acc[x] + b0);
    acc[x + 1] = gelu_tanh(acc[x + 1] + b1);
    acc[x + 2] = gelu_tanh(acc[x + 2] + b0);
    acc[x + 3] = gelu_tanh(acc[x + 3] + b1);
  }
}

// Writes acc as BF16 to 4 boxes of 64 x 64, two at a time; one thread of the warpgroup calls store(box, column, row).
template <typename Store>
__device__ static void store_by_tma(const float (&acc)[128], Shared& shared, unsigned row, unsigned col,
                                    const Store& store) {
  const unsigned tid = threadIdx.x % 128, warpgroup = threadIdx.x / 128 - 1, box_row = tid / 32 * 16 + tid % 16;
  const auto pair = [&](int x) {
    const __nv_bfloat162 both = __floats2bfloat162_rn(acc[x], acc[x + 1]);
    return *reinterpret_cast<const unsigned*>(&both);
  };
#pragma unroll
  for (int b = 0; b < 4; ++b) {
    __nv_bfloat16(&box)[64][64] = shared.C[warpgroup][b % 2];
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
      store(box, col + 64 * b, row + warpgroup * 64);
      tma_store_commit();
    }
  }
}

// Stores acc by threads, as float or BF16. `aligned`: the rows of C are 16-byte aligned.
template <typename T>
__device__ static void store_by_threads(const float (&acc)[128], Shared& shared, T* C, unsigned M, unsigned N,
                                        unsigned row, unsigned col, bool aligned) {
  const unsigned warp = threadIdx.x / 32 - 4, i = row + warp * 16;
  store_rows<BN, 32>(acc, shared.sums[warp], &C[std::size_t{i} * N + col], N, static_cast<int>(min(M - min(i, M), 16u)),
                     static_cast<int>(min(N - col, unsigned{BN})), 1, 0, aligned);
}

// A tile's first row of A and of W, and its steps along k: `steps` from step `first` on.
struct Place {
  unsigned row, col, first, steps;
};

// Block b has tiles b, b + gridDim.x, ...; finish(acc, shared, place(tile), tile) stores one. All threads must call it.
template <typename PlaceOf, typename Finish>
__device__ static void run_tiles(const CUtensorMap* A, const CUtensorMap* W, unsigned tiles, const PlaceOf& place,
                                 const Finish& finish) {
  extern __shared__ unsigned char memory[];
  Shared& shared = swizzle_aligned<Shared>(memory);
  const unsigned tid = threadIdx.x, lane = tid % 32;
  if (tid == 0) {
    for (Barrier& barrier : shared.full) mbarrier_init(&barrier, 1);
    for (Barrier& barrier : shared.empty) mbarrier_init(&barrier, 8);  // the warps that multiply
    mbarrier_init_fence();
  }
  __syncthreads();

  unsigned turn = 0;  // steps of all tiles so far
  if (tid < 128) {
    registers_decrease<40>();
    for (unsigned tile = blockIdx.x; tile < tiles && tid == 0; tile += gridDim.x) {
      const Place at = place(tile);
      for (unsigned step = 0; step < at.steps; ++step, ++turn) {
        Stage& to = shared.stages[turn % kStages];
        Barrier* barrier = &shared.full[turn % kStages];
        mbarrier_wait(&shared.empty[turn % kStages], turn / kStages % 2 ^ 1);  // does not wait in the first round
        mbarrier_arrive_expect(barrier, sizeof(Stage));
        tma_load(to.A, A, (at.first + step) * BK, at.row, barrier);
        tma_load(to.W, W, (at.first + step) * BK, at.col, barrier);
      }
    }
  } else {
    registers_increase<232>();
    const unsigned warpgroup = tid / 128 - 1;
    const auto release = [&](unsigned turn) {
      if (lane == 0) mbarrier_arrive(&shared.empty[turn % kStages]);
    };
    for (unsigned tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
      float acc[128];
      const unsigned steps = place(tile).steps;
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
        wgmma_wait<1>(acc);
        if (step > 0) release(turn - 1);
      }
      wgmma_wait<0>(acc);
      release(turn - 1);
      finish(acc, shared, place(tile), tile);
    }
    if (tid % 128 == 0) tma_store_wait_read<0>();  // TMA has read the boxes before the block exits
  }
}

// kByTma: TMA can store C. Otherwise its rows are unaligned, and threads store them.
template <bool kByTma>
__global__ void __launch_bounds__(kThreads, 1)
    linear_persistent(const __grid_constant__ CUtensorMap A, const __grid_constant__ CUtensorMap W,
                      const __grid_constant__ CUtensorMap C_map, const __nv_bfloat16* __restrict__ bias,
                      __nv_bfloat16* __restrict__ C, unsigned M, unsigned N, unsigned steps, unsigned tiles_m,
                      unsigned tiles_n) {
  const auto place = [&](unsigned tile) {
    const Tile at = tile_place(tile, tiles_m, tiles_n);
    return Place{at.row * BM, at.col * BN, 0, steps};
  };
  run_tiles(&A, &W, tiles_m * tiles_n, place, [&](float(&acc)[128], Shared& shared, const Place& at, unsigned) {
    bias_gelu(acc, bias + at.col, static_cast<int>(min(N - at.col, unsigned{BN})));
    if constexpr (kByTma) {
      store_by_tma(acc, shared, at.row, at.col,
                   [&](const void* box, unsigned col, unsigned row) { tma_store(box, &C_map, col, row); });
    } else {
      store_by_threads(acc, shared, C, M, N, at.row, at.col, false);
    }
  });
}

static auto maps_of(const __nv_bfloat16* A, const __nv_bfloat16* W, std::size_t M, std::size_t N, std::size_t K) {
  std::size_t lda = K, ldw = K;
  A = rows_for_tma<struct AlignedA>(A, M, K, lda);
  W = rows_for_tma<struct AlignedW>(W, N, K, ldw);
  return std::make_pair(tensor_map(A, M, K, lda, BM), tensor_map(W, N, K, ldw, BN));
}
constexpr int kBytes = sizeof(Shared) + kSwizzleAlignment;

[[maybe_unused]] static void launch_persistent(const __nv_bfloat16* A, const __nv_bfloat16* W,
                                               const __nv_bfloat16* bias, __nv_bfloat16* C, std::size_t M,
                                               std::size_t N, std::size_t K) {
  if (M == 0 || N == 0) return;
  if (K == 0) return without_product<false>(bias, C, M, N);
  const auto tiles_m = static_cast<unsigned>(ceil_div(M, BM)), tiles_n = static_cast<unsigned>(ceil_div(N, BN));
  const unsigned grid = std::min(tiles_m * tiles_n, static_cast<unsigned>(sm_count()));
  const bool by_tma = tma_stores(C, N, N);
  const auto kernel = by_tma ? linear_persistent<true> : linear_persistent<false>;
  const auto [map_a, map_w] = maps_of(A, W, M, N, K);
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes));
  kernel<<<grid, kThreads, kBytes>>>(map_a, map_w, by_tma ? tensor_map(C, M, N, N, 64) : CUtensorMap{}, bias, C, M, N,
                                     static_cast<unsigned>(ceil_div(K, BK)), tiles_m, tiles_n);
  CUDA_CHECK(cudaGetLastError());
}

using LinearByTma = LayerByTma<Linear, true>;
LADDER_STEP(LinearByTma, launch_persistent);
