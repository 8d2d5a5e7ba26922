// Problem:  in step 02 the tensor cores wait for each tile to be loaded, and within a tile for each fragment.
// Idea:     a pipeline: cp.async keeps 3 tiles in flight in 4 stages, and the next 16 k's fragments are read ahead.
// Expect:   1.3 to 1.8x step 02, 0.65 to 0.75x cuBLAS: on Hopper mma.sync reaches about 0.65 of wgmma's rate.
// Measured: 1.93x step 02, 0.58x cuBLAS at 4096 (H200); 1.90x, 0.57x (H100).
// Next:     a warp multiplies from its registers. What multiplies from shared memory? (wgmma, sm_90a)
// needs: sm_80
#include "bf16_chunks.cuh"
#include "gemm_bf16.cuh"
#include "tensor_core.cuh"
#include "../tile_of_c.cuh"

constexpr int BM = 128, BN = 128, BK = 32;
constexpr int WM = 64, WN = 64;
constexpr int kWarpsN = BN / WN, kThreads = BM / WM * kWarpsN * 32;
constexpr int kStages = 4;  // 64 KB
struct Stage {
  __nv_bfloat16 As[BM * BK], Bs[BK * BN];
};

// kAligned: chunks of 8 elements are 16-byte aligned, and no edge cuts one. Otherwise threads load single elements.
template <bool kAligned>
__global__ void __launch_bounds__(kThreads)
    gemm_bf16_cp_async(long long M, long long N, long long K, float alpha, const __nv_bfloat16* __restrict__ A,
                       long long lda, const __nv_bfloat16* __restrict__ B, long long ldb, float beta,
                       __nv_bfloat16* __restrict__ C, long long ldc, unsigned tiles_m, unsigned tiles_n, bool pairs) {
  extern __shared__ uint4 smem[];
  Stage* const stages = reinterpret_cast<Stage*>(smem);
  const int tid = threadIdx.x, lane = tid % 32, warp = tid / 32;
  const int warp_row = warp / kWarpsN * WM, warp_col = warp % kWarpsN * WN;
  const Tile tile = tile_place(blockIdx.x, tiles_m, tiles_n);
  const long long row0 = static_cast<long long>(tile.row) * BM, col0 = static_cast<long long>(tile.col) * BN;

  // This thread copies chunk a_chunk of some rows of A, past the end the last row again, and b_chunk of some rows of B.
  constexpr int kRowsA = kThreads / (BK / 8), kRowsB = kThreads / (BN / 8);
  constexpr int kCopiesA = BM / kRowsA, kCopiesB = BK / kRowsB;
  const int a_row = tid / (BK / 8), a_chunk = tid % (BK / 8), b_row = tid / (BN / 8), b_chunk = tid % (BN / 8);
  const __nv_bfloat16 *from_a[kCopiesA], *from_b[kCopiesB];
#pragma unroll
  for (int i = 0; i < kCopiesA; ++i) from_a[i] = A + min(row0 + a_row + i * kRowsA, M - 1) * lda + a_chunk * 8;
#pragma unroll
  for (int i = 0; i < kCopiesB; ++i) from_b[i] = B + (b_row + i * kRowsB) * ldb + col0 + b_chunk * 8;
  const long long step_b = BK * ldb;
  const int left_n = static_cast<int>(min(8LL, N - col0 - b_chunk * 8));
  int left_k = static_cast<int>(K);  // k left, from the next tile to copy
  // zeros past the edges
  const auto copy_chunk = [](__nv_bfloat16& to, const __nv_bfloat16* from, int left) {
    if (kAligned) {
      cp_async_16(&to, from, left > 0 ? 16 : 0);
    } else {
      reinterpret_cast<uint4&>(to) = load_chunk_guarded(from, left);
    }
  };
  // part i of 4 of this thread's copies of a tile
  const auto copy = [&](Stage& to, int i) {
#pragma unroll
    for (int c = i * kCopiesA / 4; c < (i + 1) * kCopiesA / 4; ++c) {
      copy_chunk(to.As[swizzled<BK>(a_row + c * kRowsA, a_chunk)], from_a[c], left_k - a_chunk * 8);
      from_a[c] += BK;
    }
#pragma unroll
    for (int c = i * kCopiesB / 4; c < (i + 1) * kCopiesB / 4; ++c) {
      copy_chunk(to.Bs[swizzled<BN>(b_row + c * kRowsB, b_chunk)], from_b[c], b_row + c * kRowsB < left_k ? left_n : 0);
      from_b[c] += step_b;
    }
    if (i < 3) return;
    left_k -= BK;
    cp_async_commit();
  };

  unsigned a[2][WM / 16][4] = {}, b[2][WN / 16][4] = {};  // each b: two fragments of 16 x 8, side by side
  float acc[WM / 16][WN / 8][4] = {};
  static_assert(WM == 64 && WN == 64, "four fragments of A, and four of B");
  const auto read = [&](const Stage& from, int k, int i) {
    ldmatrix_x4(a[k / 16 % 2][i], &from.As[swizzled<BK>(warp_row + i * 16 + lane % 16, k / 8 + lane / 16)]);
    ldmatrix_x4_trans(b[k / 16 % 2][i], &from.Bs[swizzled<BN>(k + lane % 16, warp_col / 8 + i * 2 + lane / 16)]);
  };
  const auto multiply = [&](int buffer, int i) {
#pragma unroll
    for (int j = 0; j < WN / 8; ++j) {
      mma_m16n8k16_bf16(acc[i][j], a[buffer][i], b[buffer][j / 2][j % 2 * 2], b[buffer][j / 2][j % 2 * 2 + 1]);
    }
  };

  // prologue: kStages - 1 tiles in flight
  for (int s = 0; s < kStages - 1; ++s) {
#pragma unroll
    for (int i = 0; i < 4; ++i) copy(stages[s], i);
  }
  // main loop
  int current = 0, next = kStages - 1;  // the stage in use, and the one to be filled
#pragma unroll 1
  for (unsigned k0 = 0; k0 < K; k0 += BK) {  // K is below 2^31
    cp_async_wait<kStages - 2>();            // this tile has arrived, and all threads have read the one before
    __syncthreads();
#pragma unroll
    for (int k = 0; k < BK; k += 16) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        read(stages[current], k, i);
        if (k == 0) copy(stages[next], i);
        multiply((k / 16 + 1) % 2, i);
      }
    }
    current = current + 1 == kStages ? 0 : current + 1;
    next = next + 1 == kStages ? 0 : next + 1;
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) multiply(1, i);
  cp_async_wait<0>();

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
  const bool aligned_ab = aligned_for<uint4>(A, B) && lda % 8 == 0 && ldb % 8 == 0 && K % 8 == 0 && N % 8 == 0;
  const bool pairs = has_pairs(C, ldc);
  const auto kernel = aligned_ab ? gemm_bf16_cp_async<true> : gemm_bf16_cp_async<false>;
  constexpr int bytes = kStages * sizeof(Stage);
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  kernel<<<tiles_m * tiles_n, kThreads, bytes>>>(M, N, K, alpha, A, lda, B, ldb, beta, C, ldc, tiles_m, tiles_n, pairs);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(GemmBf16, launch);
