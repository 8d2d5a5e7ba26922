// Problem:  step 01 writes and reads each sum as a float: 8 bytes of traffic per element of C, which itself takes 2.
// Idea:     the epilogue in registers: each lane adds the bias of its columns, applies GELU, rounds and stores.
// Expect:   1.05 to 1.15x step 01 at 4096^3 (as gemm_bf16 02): 134 MB less, 40 us of about 700; more if k is small.
// Measured: 1.06x step 01, 0.26x cuBLASLt at 4096 (H200).
// Next:     the tensor cores wait for each tile. How are copies and products overlapped?
// needs: sm_80
#include "bf16_chunks.cuh"
#include "gelu_tanh.cuh"
#include "linear.cuh"
#include "tensor_core.cuh"
#include "../tile_of_c.cuh"

constexpr int BM = 128, BN = 128, BK = 32;
constexpr int WM = 64, WN = 64;
constexpr int kWarpsN = BN / WN, kThreads = BM / WM * kWarpsN * 32;

// kAligned: the rows of A and W are 16-byte aligned. Otherwise their elements are loaded one by one.
template <bool kAligned>
__global__ void __launch_bounds__(kThreads)
    linear_fused(const __nv_bfloat16* __restrict__ A, const __nv_bfloat16* __restrict__ W,
                 const __nv_bfloat16* __restrict__ bias, __nv_bfloat16* __restrict__ C, long long M, long long N,
                 long long K, unsigned tiles_m, unsigned tiles_n, bool pairs) {
  __shared__ __align__(16) __nv_bfloat16 As[BM * BK], Ws[BN * BK];
  const int tid = threadIdx.x, lane = tid % 32, warp = tid / 32;
  const int warp_row = warp / kWarpsN * WM, warp_col = warp % kWarpsN * WN;
  const Tile tile = tile_place(blockIdx.x, tiles_m, tiles_n);
  const long long row0 = static_cast<long long>(tile.row) * BM, col0 = static_cast<long long>(tile.col) * BN;

  // A chunk is 8 elements. This thread loads chunk `chunk` of some rows of A and of the same rows of W.
  constexpr int kRows = kThreads / (BK / 8), kCopies = BM / kRows;
  static_assert(BM == BN, "tiles of the same size");
  const int copy_row = tid / (BK / 8), chunk = tid % (BK / 8);

  float acc[WM / 16][WN / 8][4] = {};
  for (long long k0 = 0; k0 < K; k0 += BK) {
    // load a tile of A and of W, zeros past the edges
    const auto load = [&](const auto& load_chunk) {
      const long long k = k0 + chunk * 8;
      uint4 a[kCopies], w[kCopies];
#pragma unroll
      for (int i = 0; i < kCopies; ++i) {
        const long long row = row0 + copy_row + i * kRows, col = col0 + copy_row + i * kRows;
        a[i] = load_chunk(&A[row * K + k], row < M ? K - k : 0);
        w[i] = load_chunk(&W[col * K + k], col < N ? K - k : 0);
      }
#pragma unroll
      for (int i = 0; i < kCopies; ++i) {
        const int to = swizzled<BK>(copy_row + i * kRows, chunk);
        reinterpret_cast<uint4&>(As[to]) = a[i];
        reinterpret_cast<uint4&>(Ws[to]) = w[i];
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
      unsigned a[WM / 16][4], b[WN / 16][4];
      const auto read = [&](unsigned(&to)[4], const __nv_bfloat16* from, int row) {
        ldmatrix_x4(to, &from[swizzled<BK>(row + lane % 16, k / 8 + lane / 16)]);
      };
#pragma unroll
      for (int i = 0; i < WM / 16; ++i) read(a[i], As, warp_row + i * 16);
        // 16 rows of W are 16 columns of W^T: registers 0 and 2 are the fragment of the first 8, 1 and 3 of the others
#pragma unroll
      for (int j = 0; j < WN / 16; ++j) read(b[j], Ws, warp_col + j * 16);
#pragma unroll
      for (int i = 0; i < WM / 16; ++i) {
#pragma unroll
        for (int j = 0; j < WN / 8; ++j) mma_m16n8k16_bf16(acc[i][j], a[i], b[j / 2][j % 2], b[j / 2][j % 2 + 2]);
      }
    }
    __syncthreads();
  }

  // epilogue: a lane has two neighbouring columns of rows lane / 4 and lane / 4 + 8
#pragma unroll
  for (int j = 0; j < WN / 8; ++j) {
    const long long col = col0 + warp_col + j * 8 + lane % 4 * 2;
    if (col >= N) continue;
    const float b0 = __bfloat162float(bias[col]), b1 = col + 1 < N ? __bfloat162float(bias[col + 1]) : 0.0f;
#pragma unroll
    for (int i = 0; i < WM / 16; ++i) {
      const auto store = [&](long long row, float s0, float s1) {
        if (row >= M) return;
        store_pair(&C[row * N + col], gelu_tanh(s0 + b0), gelu_tanh(s1 + b1), 0, col + 1 < N, pairs);
      };
      const long long row = row0 + warp_row + i * 16 + lane / 4;
      store(row, acc[i][j][0], acc[i][j][1]);
      store(row + 8, acc[i][j][2], acc[i][j][3]);
    }
  }
}

static void launch(const __nv_bfloat16* A, const __nv_bfloat16* W, const __nv_bfloat16* bias, __nv_bfloat16* C,
                   std::size_t M, std::size_t N, std::size_t K) {
  if (M == 0 || N == 0) return;
  const auto tiles_m = static_cast<unsigned>(ceil_div(M, BM)), tiles_n = static_cast<unsigned>(ceil_div(N, BN));
  const auto kernel = aligned_for<uint4>(A, W) && K % 8 == 0 ? linear_fused<true> : linear_fused<false>;
  kernel<<<tiles_m * tiles_n, kThreads>>>(A, W, bias, C, M, N, K, tiles_m, tiles_n, has_pairs(C, N));
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Linear, launch);
