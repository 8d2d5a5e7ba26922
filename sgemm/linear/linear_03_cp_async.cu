// Problem:  in step 02 the tensor cores wait for each tile to be loaded, and within a tile for each fragment.
// Idea:     the pipeline of gemm_bf16 03: cp.async keeps 3 tiles in flight in 4 stages, and the next 16 k's fragments
//           are read ahead. A and W have rows along k, so one rule copies both.
// Expect:   1.7 to 2.0x step 02, 0.45 to 0.6x cuBLASLt at 4096^3, as gemm_bf16 03, whose rate it doesn't reach. Slower
//           than step 02 where k % 8 isn't 0: cp.async needs aligned rows, and plain loads overlap nothing.
// Measured: 1.88x step 02, 0.50x cuBLASLt at 4096 (H200).
// Next:     a warp multiplies from its registers. What multiplies from shared memory? (wgmma, sm_90a)
// needs: sm_80
#include "bf16_chunks.cuh"
#include "gelu_tanh.cuh"
#include "linear.cuh"
#include "tensor_core.cuh"
#include "../tile_of_c.cuh"

constexpr int BM = 128, BN = 128, BK = 32;
constexpr int WM = 64, WN = 64;
constexpr int kWarpsN = BN / WN, kThreads = BM / WM * kWarpsN * 32;
constexpr int kStages = 4;  // 64 KB
struct Stage {
  __nv_bfloat16 As[BM * BK], Ws[BN * BK];
};

// Computes a tile of C. kAligned: the rows of A and W are whole 16-byte chunks. Otherwise they are loaded by element.
template <bool kAligned>
__device__ static void multiply_tile(const __nv_bfloat16* __restrict__ A, const __nv_bfloat16* __restrict__ W,
                                     const __nv_bfloat16* __restrict__ bias, __nv_bfloat16* __restrict__ C, long long M,
                                     long long N, long long K, Tile tile, bool pairs) {
  extern __shared__ uint4 smem[];
  Stage* const stages = reinterpret_cast<Stage*>(smem);
  const int tid = threadIdx.x, lane = tid % 32, warp = tid / 32;
  const int warp_row = warp / kWarpsN * WM, warp_col = warp % kWarpsN * WN;
  const long long row0 = static_cast<long long>(tile.row) * BM, col0 = static_cast<long long>(tile.col) * BN;

  // This thread copies chunk `chunk` of 4 rows of A and of W; past the last row, the last row again.
  constexpr int kRows = kThreads / (BK / 8);
  static_assert(BM == 4 * kRows && BN == 4 * kRows, "four copies of each");
  const int copy_row = tid / (BK / 8), chunk = tid % (BK / 8);
  const __nv_bfloat16 *from_a[4], *from_w[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    from_a[i] = A + min(row0 + copy_row + i * kRows, M - 1) * K + chunk * 8;
    from_w[i] = W + min(col0 + copy_row + i * kRows, N - 1) * K + chunk * 8;
  }
  int left = static_cast<int>(K) - chunk * 8;  // k left, from this thread's next chunk on
  const auto copy_chunk = [&](__nv_bfloat16& to, const __nv_bfloat16*& from) {
    if (kAligned) {
      cp_async_16(&to, from, left > 0 ? 16 : 0);  // zeros past k
    } else {
      reinterpret_cast<uint4&>(to) = load_chunk_guarded(from, left);
    }
    from += BK;
  };
  // part i of 4 of this thread's copies of a tile
  const auto copy = [&](Stage& to, int i) {
    const int place = swizzled<BK>(copy_row + i * kRows, chunk);
    copy_chunk(to.As[place], from_a[i]);
    copy_chunk(to.Ws[place], from_w[i]);
    if (i < 3) return;
    left -= BK;
    cp_async_commit();
  };

  unsigned a[2][WM / 16][4] = {}, b[2][WN / 16][4] = {};  // b: registers 0 and 2 are 8 columns, 1 and 3 the next 8
  float acc[WM / 16][WN / 8][4] = {};
  static_assert(WM == 64 && WN == 64, "four fragments of A, and four of W");
  const auto read = [&](const Stage& from, int k, int i) {
    const int row = i * 16 + lane % 16, k_chunk = k / 8 + lane / 16;
    ldmatrix_x4(a[k / 16 % 2][i], &from.As[swizzled<BK>(warp_row + row, k_chunk)]);
    ldmatrix_x4(b[k / 16 % 2][i], &from.Ws[swizzled<BK>(warp_col + row, k_chunk)]);
  };
  const auto multiply = [&](int buffer, int i) {
#pragma unroll
    for (int j = 0; j < WN / 8; ++j) {
      mma_m16n8k16_bf16(acc[i][j], a[buffer][i], b[buffer][j / 2][j % 2], b[buffer][j / 2][j % 2 + 2]);
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
    cp_async_wait<kStages - 2>();            // this tile has arrived, and all threads have read the previous one
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

template <bool kAligned>
__global__ void __launch_bounds__(kThreads)
    linear_cp_async(const __nv_bfloat16* __restrict__ A, const __nv_bfloat16* __restrict__ W,
                    const __nv_bfloat16* __restrict__ bias, __nv_bfloat16* __restrict__ C, long long M, long long N,
                    long long K, unsigned tiles_m, unsigned tiles_n, bool pairs) {
  multiply_tile<kAligned>(A, W, bias, C, M, N, K, tile_place(blockIdx.x, tiles_m, tiles_n), pairs);
}

[[maybe_unused]] static void launch_cp_async(const __nv_bfloat16* A, const __nv_bfloat16* W, const __nv_bfloat16* bias,
                                             __nv_bfloat16* C, std::size_t M, std::size_t N, std::size_t K) {
  if (M == 0 || N == 0) return;
  const auto tiles_m = static_cast<unsigned>(ceil_div(M, BM)), tiles_n = static_cast<unsigned>(ceil_div(N, BN));
  const bool aligned = aligned_for<uint4>(A, W) && K % 8 == 0 && K > 0;  // with K = 0 nothing may be copied
  const auto kernel = aligned ? linear_cp_async<true> : linear_cp_async<false>;
  constexpr int bytes = kStages * sizeof(Stage);
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  kernel<<<tiles_m * tiles_n, kThreads, bytes>>>(A, W, bias, C, M, N, K, tiles_m, tiles_n, has_pairs(C, N));
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Linear, launch_cp_async);
