// Problem:  step 01 converts each byte and multiplies one pair per lane and instruction.
// Idea:     mma.sync.m16n8k32 on e4m3, with the pipeline and fragments of gemm_int8 02. Ada has it in hardware (QMMA).
//           For sm_90 ptxas converts to FP16 and emits two HMMA (SASS), which add in FP32.
// Expect:   11 to 16x step 01, 0.17 to 0.26x cuBLASLt at 4096 on Hopper: HMMA has half the rate of FP8, and mma.sync
//           0.65 of that; 96 F2FP and 128 FADD are added to 64 HMMA (SASS), and one block fits on an SM.
// Measured: 13.0x step 01, 0.21x cuBLASLt at 4096 (H200).
// Next:     what multiplies FP8 itself on Hopper? (wgmma, sm_90a)
// needs: sm_89
#include "gemm_fp8.cuh"
#include "tensor_core_8bit.cuh"
#include "../byte_tiles.cuh"
#include "../tile_of_c.cuh"

constexpr int BM = 128, BN = 128, BK = 64;
constexpr int WM = 64, WN = 32;
constexpr int kWarpsN = BN / WN, kThreads = BM / WM * kWarpsN * 32;
constexpr int kStages = 4;  // 64 KB
struct Stage {
  uint4 A[BM * BK / 16], B[BN * BK / 16];
};

// kAligned: the rows of A and B are 16-byte aligned, and k is a multiple of 16. Otherwise threads load single bytes.
template <bool kAligned>
__global__ void __launch_bounds__(kThreads)
    gemm_fp8_mma(long long M, long long N, long long K, const std::uint8_t* __restrict__ A,
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

  float acc[WM / 16][WN / 8][4] = {};
  for (int s = 0; s < kStages - 1; ++s) copy(stages[s]);
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
  }
  cp_async_wait<0>();

  // store: a lane has two neighbouring columns of rows lane / 4 and lane / 4 + 8
  const float scale = a_scales[0] * b_scales[0];
  const auto store = [&](long long row, long long col, float s0, float s1) {
    if (row < M && col < N) store_pair(&C[row * N + col], s0 * scale, s1 * scale, 0, col + 1 < N, pairs);
  };
#pragma unroll
  for (int i = 0; i < WM / 16; ++i) {
#pragma unroll
    for (int j = 0; j < WN / 8; ++j) {
      const long long row = row0 + warp_row + i * 16 + lane / 4, col = col0 + warp_col + j * 8 + lane % 4 * 2;
      store(row, col, acc[i][j][0], acc[i][j][1]);
      store(row + 8, col, acc[i][j][2], acc[i][j][3]);
    }
  }
}

static void launch(const std::uint8_t* A, const std::uint8_t* B, const float* a_scales, const float* b_scales, float* C,
                   std::size_t M, std::size_t N, std::size_t K) {
  if (M == 0 || N == 0) return;
  const auto tiles_m = static_cast<unsigned>(ceil_div(M, BM)), tiles_n = static_cast<unsigned>(ceil_div(N, BN));
  const auto kernel = aligned_for<uint4>(A, B) && K % 16 == 0 ? gemm_fp8_mma<true> : gemm_fp8_mma<false>;
  constexpr int bytes = kStages * sizeof(Stage);
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  kernel<<<tiles_m * tiles_n, kThreads, bytes>>>(M, N, K, A, B, a_scales, b_scales, C, tiles_m, tiles_n,
                                                 has_pairs(C, N));
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(GemmFp8, launch);
