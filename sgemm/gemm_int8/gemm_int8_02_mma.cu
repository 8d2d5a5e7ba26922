// Problem:  dp4a computes 4 products per lane and instruction, on operands that each lane has loaded for itself.
// Idea:     mma.sync.m16n8k32: 4096 multiply-adds per warp. ldmatrix moves 4 bytes of a row to each lane, two BF16 or
//           four consecutive k of int8; B, n x k, needs no .trans. cp.async keeps 3 tiles in flight.
// Expect:   6 to 8.5x step 01, 0.5 to 0.75x step 00 at 4096: gemm_bf16 03 has 0.58x cuBLAS. A tile has half as many
//           MMAs (64 of 146 instructions, SASS), but waits for shared memory as long; step 00 passes over C twice.
// Measured: 8.04x step 01, 0.71x cuBLASLt at 4096 (H200).
// Next:     what multiplies from shared memory? (wgmma, sm_90a)
// needs: sm_80
#include "gemm_int8.cuh"
#include "tensor_core_8bit.cuh"
#include "../byte_tiles.cuh"
#include "../tile_of_c.cuh"

constexpr int BM = 128, BN = 128, BK = 64;
constexpr int WM = 64, WN = 64;
constexpr int kWarpsN = BN / WN, kThreads = BM / WM * kWarpsN * 32;
constexpr int kStages = 4;  // 64 KB
struct Stage {
  uint4 A[BM * BK / 16], B[BN * BK / 16];
};

// kAligned: the rows of A and B are 16-byte aligned, and k is a multiple of 16. Otherwise threads load single bytes.
template <bool kAligned>
__global__ void __launch_bounds__(kThreads)
    gemm_int8_mma(long long M, long long N, long long K, const std::int8_t* __restrict__ A,
                  const std::int8_t* __restrict__ B, const float* __restrict__ row_scales,
                  const float* __restrict__ column_scales, float* __restrict__ C, unsigned tiles_m, unsigned tiles_n,
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
  const std::int8_t *from_a[kCopies], *from_b[kCopies];
#pragma unroll
  for (int i = 0; i < kCopies; ++i) {
    from_a[i] = A + min(row0 + copy_row + i * kRows, M - 1) * K + chunk * 16;
    from_b[i] = B + min(col0 + copy_row + i * kRows, N - 1) * K + chunk * 16;
  }
  int left = static_cast<int>(K) - chunk * 16;  // k left, from this thread's next chunk on
  const auto copy_chunk = [&](uint4& to, const std::int8_t*& from) {
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

  int acc[WM / 16][WN / 8][4] = {};
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
          mma_m16n8k32_s8(acc[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
        }
      }
    }
  }
  cp_async_wait<0>();

  // store: a lane has two neighbouring columns of rows lane / 4 and lane / 4 + 8
  const auto store = [&](long long row, long long col, int s0, int s1) {
    if (row >= M || col >= N) return;
    const bool both = col + 1 < N;
    const float scale = row_scales[row], c0 = column_scales[col], c1 = both ? column_scales[col + 1] : 0;
    store_pair(&C[row * N + col], static_cast<float>(s0) * scale * c0, static_cast<float>(s1) * scale * c1, 0, both,
               pairs);
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

static void launch(const std::int8_t* A, const std::int8_t* B, const float* row_scales, const float* column_scales,
                   float* C, std::size_t M, std::size_t N, std::size_t K) {
  if (M == 0 || N == 0) return;
  const auto tiles_m = static_cast<unsigned>(ceil_div(M, BM)), tiles_n = static_cast<unsigned>(ceil_div(N, BN));
  const auto kernel = aligned_for<uint4>(A, B) && K % 16 == 0 ? gemm_int8_mma<true> : gemm_int8_mma<false>;
  constexpr int bytes = kStages * sizeof(Stage);
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  kernel<<<tiles_m * tiles_n, kThreads, bytes>>>(M, N, K, A, B, row_scales, column_scales, C, tiles_m, tiles_n,
                                                 has_pairs(C, N));
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(GemmInt8, launch);
