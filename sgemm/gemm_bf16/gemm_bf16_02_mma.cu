// Problem:  WMMA fragments are opaque: the kernel can't choose their loads, and C must pass through shared memory.
// Idea:     mma.sync, whose fragments the PTX manual defines; ldmatrix from swizzled tiles; 64 x 64 of C per warp.
// Expect:   3 to 6x step 01, 0.4 to 0.6x cuBLAS: 64 products per element, 16-byte loads, but no overlap.
// Measured: 11.7x step 01, 0.30x cuBLAS at 4096 (H200); 12.2x, 0.30x (H100).
// Next:     how do loads and products overlap without registers for the next tile?
// needs: sm_80
#include "bf16_chunks.cuh"
#include "gemm_bf16.cuh"
#include "tensor_core.cuh"
#include "../tile_of_c.cuh"

constexpr int BM = 128, BN = 128, BK = 32;
constexpr int WM = 64, WN = 64;
constexpr int kWarpsN = BN / WN, kThreads = BM / WM * kWarpsN * 32;

// kAligned: the rows of A and B are 16-byte aligned. Otherwise their elements are loaded one by one.
template <bool kAligned>
__global__ void __launch_bounds__(kThreads)
    gemm_bf16_mma(long long M, long long N, long long K, float alpha, const __nv_bfloat16* __restrict__ A,
                  long long lda, const __nv_bfloat16* __restrict__ B, long long ldb, float beta,
                  __nv_bfloat16* __restrict__ C, long long ldc, unsigned tiles_m, unsigned tiles_n, bool pairs) {
  __shared__ __align__(16) __nv_bfloat16 As[BM * BK], Bs[BK * BN];
  const int tid = threadIdx.x, lane = tid % 32, warp = tid / 32;
  const int warp_row = warp / kWarpsN * WM, warp_col = warp % kWarpsN * WN;
  const Tile tile = tile_place(blockIdx.x, tiles_m, tiles_n);
  const long long row0 = static_cast<long long>(tile.row) * BM, col0 = static_cast<long long>(tile.col) * BN;

  // A chunk is 8 elements. This thread loads chunk a_chunk of some rows of A, and chunk b_chunk of some rows of B.
  constexpr int kRowsA = kThreads / (BK / 8), kRowsB = kThreads / (BN / 8);
  const int a_row = tid / (BK / 8), a_chunk = tid % (BK / 8), b_row = tid / (BN / 8), b_chunk = tid % (BN / 8);

  float acc[WM / 16][WN / 8][4] = {};
  for (long long k0 = 0; k0 < K; k0 += BK) {
    // load a tile of A and of B, zeros past the edges
    const auto load = [&](const auto& load_chunk) {
      uint4 a[BM / kRowsA], b[BK / kRowsB];
#pragma unroll
      for (int i = 0; i < BM / kRowsA; ++i) {
        const long long row = row0 + a_row + i * kRowsA, k = k0 + a_chunk * 8;
        a[i] = load_chunk(&A[row * lda + k], row < M ? K - k : 0);
      }
#pragma unroll
      for (int i = 0; i < BK / kRowsB; ++i) {
        const long long k = k0 + b_row + i * kRowsB, col = col0 + b_chunk * 8;
        b[i] = load_chunk(&B[k * ldb + col], k < K ? N - col : 0);
      }
#pragma unroll
      for (int i = 0; i < BM / kRowsA; ++i) {
        reinterpret_cast<uint4&>(As[swizzled<BK>(a_row + i * kRowsA, a_chunk)]) = a[i];
      }
#pragma unroll
      for (int i = 0; i < BK / kRowsB; ++i) {
        reinterpret_cast<uint4&>(Bs[swizzled<BN>(b_row + i * kRowsB, b_chunk)]) = b[i];
      }
    };
    if (kAligned && row0 + BM <= M && col0 + BN <= N && k0 + BK <= K) {
      load([](const __nv_bfloat16* p, long long) { return *reinterpret_cast<const uint4*>(p); });
    } else {
      load([](const __nv_bfloat16* p, long long left) { return load_chunk_guarded(p, left); });
    }
    __syncthreads();
    // multiply: 4 x 8 fragments of C per warp
#pragma unroll
    for (int k = 0; k < BK; k += 16) {
      unsigned a[WM / 16][4], b[WN / 16][4];  // each b: two fragments of 16 x 8, side by side
#pragma unroll
      for (int i = 0; i < WM / 16; ++i) {
        ldmatrix_x4(a[i], &As[swizzled<BK>(warp_row + i * 16 + lane % 16, k / 8 + lane / 16)]);
      }
#pragma unroll
      for (int j = 0; j < WN / 16; ++j) {
        ldmatrix_x4_trans(b[j], &Bs[swizzled<BN>(k + lane % 16, warp_col / 8 + j * 2 + lane / 16)]);
      }
#pragma unroll
      for (int i = 0; i < WM / 16; ++i) {
#pragma unroll
        for (int j = 0; j < WN / 8; ++j)
          mma_m16n8k16_bf16(acc[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
      }
    }
    __syncthreads();
  }

  // store: a lane has two neighbouring columns of rows lane / 4 and lane / 4 + 8
  const auto store = [&](long long row, long long col, float s0, float s1) {
    if (row < M && col < N) store_pair(&C[row * ldc + col], alpha * s0, alpha * s1, beta, col + 1 < N, pairs);
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

static void launch(std::size_t M, std::size_t N, std::size_t K, float alpha, const __nv_bfloat16* A, std::size_t lda,
                   const __nv_bfloat16* B, std::size_t ldb, float beta, __nv_bfloat16* C, std::size_t ldc) {
  if (M == 0 || N == 0) return;
  if (alpha == 0) K = 0;  // A and B are not read
  const auto tiles_m = static_cast<unsigned>(ceil_div(M, BM)), tiles_n = static_cast<unsigned>(ceil_div(N, BN));
  const bool aligned_ab = aligned_for<uint4>(A, B) && lda % 8 == 0 && ldb % 8 == 0;
  const bool pairs = has_pairs(C, ldc);
  const auto kernel = aligned_ab ? gemm_bf16_mma<true> : gemm_bf16_mma<false>;
  kernel<<<tiles_m * tiles_n, kThreads>>>(M, N, K, alpha, A, lda, B, ldb, beta, C, ldc, tiles_m, tiles_n, pairs);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(GemmBf16, launch);
