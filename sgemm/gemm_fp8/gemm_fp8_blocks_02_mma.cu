// Problem:  step 01 multiplies with FP32 FMAs. A tensor core can add a k-block of 128, but not scale its sum.
// Idea:     two sets of sums in registers: mma.sync adds 128 k, then FP32 FMAs scale its sums and add them to the
//           result's. That also limits what a tensor core loses to 128 products.
// Expect:   10 to 15x step 01, 0.8 to 1.0x gemm_fp8 02: one FMA per sum and 128 k, and 254 registers, which leave one
//           block per SM.
// Measured: 13.6x step 01, 0.19x cuBLASLt at 8192 (H200).
// Next:     the tensor cores wait while a warp promotes. Who could use them meanwhile? (another warpgroup)
// needs: sm_89
#include "gemm_fp8_blocks.cuh"
#include "tensor_core_8bit.cuh"
#include "../byte_tiles.cuh"
#include "../tile_of_c.cuh"

constexpr int BM = 128, BN = 128, BK = 64, kBlock = 128;  // all columns of a tile have the same scales
constexpr int WM = 64, WN = 32;
constexpr int kWarpsN = BN / WN, kThreads = BM / WM * kWarpsN * 32;
constexpr int kStages = 4;  // 64 KB
struct Stage {
  uint4 A[BM * BK / 16], B[BN * BK / 16];
};

// kAligned: the rows of A and B are 16-byte aligned, and k is a multiple of 16. Otherwise threads load single bytes.
template <bool kAligned>
__global__ void __launch_bounds__(kThreads)
    gemm_fp8_blocks_mma(long long M, long long N, long long K, const std::uint8_t* __restrict__ A,
                        const std::uint8_t* __restrict__ B, const float* __restrict__ a_scales,
                        const float* __restrict__ b_scales, float* __restrict__ C, unsigned tiles_m, unsigned tiles_n,
                        bool pairs) {
  extern __shared__ uint4 smem[];
  Stage* const stages = reinterpret_cast<Stage*>(smem);
  const int tid = threadIdx.x, lane = tid % 32, warp = tid / 32;
  const int warp_row = warp / kWarpsN * WM, warp_col = warp % kWarpsN * WN;
  const Tile tile = tile_place(blockIdx.x, tiles_m, tiles_n);
  const long long row0 = static_cast<long long>(tile.row) * BM, col0 = static_cast<long long>(tile.col) * BN;

  // This thread copies chunk `chunk` of some rows of A and of B; past the last row, the last row again.
  constexpr int kRows = kThreads / (BK / 16), kCopies = BM / kRows;
  static_assert(BM == BN && BM % kRows == 0, "as many copies of A as of B");
  const int copy_row = tid / (BK / 16), chunk = tid % (BK / 16);
  const std::uint8_t *from_a[kCopies], *from_b[kCopies];
#pragma unroll
  for (int i = 0; i < kCopies; ++i) {
    from_a[i] = A + min(row0 + copy_row + i * kRows, M - 1) * K + chunk * 16;
    from_b[i] = B + min(col0 + copy_row + i * kRows, N - 1) * K + chunk * 16;
  }
  int left = static_cast<int>(K) - chunk * 16;  // k left, from this thread's next chunk on
  const auto copy_chunk = [&](uint4& to, const std::uint8_t*& from) {
    if (kAligned) {
      cp_async_16(&to, from, left > 0 ? 16 : 0);  // zeros past k
    } else {
      to = load_bytes_guarded(from, left);
    }
    from += BK;
  };
  const auto copy = [&](Stage& to) {
#pragma unroll
    for (int i = 0; i < kCopies; ++i) {
      copy_chunk(chunk_of<BK>(to.A, copy_row + i * kRows, chunk), from_a[i]);
      copy_chunk(chunk_of<BK>(to.B, copy_row + i * kRows, chunk), from_b[i]);
    }
    left -= BK;
    cp_async_commit();
  };

  // Scales the sums of the block that ends with this step, adds them to `total` and clears them.
  const long long blocks = (K + kBlock - 1) / kBlock;
  float acc[WM / 16][WN / 8][4] = {}, total[WM / 16][WN / 8][4] = {};
  const auto promote = [&](long long block) {
    const float b_scale = b_scales[tile.col * blocks + block];
#pragma unroll
    for (int i = 0; i < WM / 16; ++i) {
#pragma unroll
      for (int x = 0; x < 4; ++x) {
        const long long row = min(row0 + warp_row + i * 16 + lane / 4 + x / 2 * 8, M - 1);
        const float scale = a_scales[row * blocks + block] * b_scale;
#pragma unroll
        for (int j = 0; j < WN / 8; ++j) {
          total[i][j][x] += acc[i][j][x] * scale;
          acc[i][j][x] = 0;
        }
      }
    }
  };

  for (int s = 0; s < kStages - 1; ++s) copy(stages[s]);
#pragma unroll 1
  for (int step = 0; step * BK < K; ++step) {
    cp_async_wait<kStages - 2>();  // this tile has arrived, and all threads have read the previous one
    __syncthreads();
    copy(stages[(step + kStages - 1) % kStages]);
    Stage& from = stages[step % kStages];
#pragma unroll
    for (int k = 0; k < BK; k += 32) {
      unsigned a[WM / 16][4], b[WN / 16][4];  // each b: two fragments of 32 x 8, side by side
#pragma unroll
      for (int i = 0; i < WM / 16; ++i) {
        ldmatrix_x4(a[i], &chunk_of<BK>(from.A, warp_row + i * 16 + lane % 16, k / 16 + lane / 16));
      }
#pragma unroll
      for (int j = 0; j < WN / 16; ++j) {
        const int row = warp_col + j * 16 + lane / 16 * 8 + lane % 8;
        ldmatrix_x4(b[j], &chunk_of<BK>(from.B, row, k / 16 + lane / 8 % 2));
      }
#pragma unroll
      for (int i = 0; i < WM / 16; ++i) {
#pragma unroll
        for (int j = 0; j < WN / 8; ++j) {
          mma_m16n8k32_e4m3(acc[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
        }
      }
    }
    if (step % (kBlock / BK) == kBlock / BK - 1 || (step + 1) * BK >= K) promote(step / (kBlock / BK));
  }
  cp_async_wait<0>();

  // store: a lane has two neighbouring columns of rows lane / 4 and lane / 4 + 8
  const auto store = [&](long long row, long long col, float s0, float s1) {
    if (row < M && col < N) store_pair(&C[row * N + col], s0, s1, 0, col + 1 < N, pairs);
  };
#pragma unroll
  for (int i = 0; i < WM / 16; ++i) {
#pragma unroll
    for (int j = 0; j < WN / 8; ++j) {
      const long long row = row0 + warp_row + i * 16 + lane / 4, col = col0 + warp_col + j * 8 + lane % 4 * 2;
      store(row, col, total[i][j][0], total[i][j][1]);
      store(row + 8, col, total[i][j][2], total[i][j][3]);
    }
  }
}

static void launch(const std::uint8_t* A, const std::uint8_t* B, const float* a_scales, const float* b_scales, float* C,
                   std::size_t M, std::size_t N, std::size_t K) {
  if (M == 0 || N == 0) return;
  const auto tiles_m = static_cast<unsigned>(ceil_div(M, BM)), tiles_n = static_cast<unsigned>(ceil_div(N, BN));
  const auto kernel = aligned_for<uint4>(A, B) && K % 16 == 0 ? gemm_fp8_blocks_mma<true> : gemm_fp8_blocks_mma<false>;
  constexpr int bytes = kStages * sizeof(Stage);
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  kernel<<<tiles_m * tiles_n, kThreads, bytes>>>(M, N, K, A, B, a_scales, b_scales, C, tiles_m, tiles_n,
                                                 has_pairs(C, N));
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(GemmFp8Blocks, launch);
