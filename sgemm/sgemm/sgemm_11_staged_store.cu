// Problem:  if rows of C are unaligned, step 10's lanes store one float, 16 bytes apart: 16 to 20 sectors per request.
// Idea:     each warp passes four rows at a time through shared memory; its lanes store 32 neighbouring columns.
// Expect:   1.00x step 10 at 4096: C is 67 MB, 2 % of the time, and is written once.
// Measured: 0.92x step 10, 0.83x cuBLAS at 4096 (H200); 0.92x, 0.83x (H100).
// Why:      not found. It loses more than all stores take: registers, or 10 KB more of shared memory (hypothesis).
// Next:     at 4097 the loads of A and B check every element. What would make these checks unnecessary?
#include "float4_access.cuh"

constexpr int BM = 128, BN = 128, BK = 8;
constexpr int TM = 8, TN = 8;
constexpr int kThreads = (BM / TM) * (BN / TN);
constexpr int kPad = 4;                                // floats
constexpr int WM = 32, WN = 64;                        // a warp's tile of C
constexpr int kSubtileM = WM / 2, kSubtileN = WN / 2;  // between a thread's groups of four
static_assert(WM / TM == 4 && WN / TN == 8, "the lanes form 4 rows of 8");
constexpr int kPadC = 16;  // floats: the rows of C that eight lanes write at a time lie in different banks
static_assert(BM * BK == 4 * kThreads && BK * BN == 4 * kThreads, "each thread loads a float4 of A and one of B");

__global__ void __launch_bounds__(kThreads, 2)
    sgemm_staged_store(long long M, long long N, long long K, float alpha, const float* __restrict__ A, long long lda,
                       const float* __restrict__ B, long long ldb, float beta, float* __restrict__ C, long long ldc,
                       unsigned tiles_n, bool aligned) {
  __shared__ alignas(16) float As[2][BK][BM + kPad], Bs[2][BK][BN], Cs[kThreads / 32][4][WN + kPadC];
  const int tid = threadIdx.x;
  const long long row0 = static_cast<long long>(blockIdx.x / tiles_n) * BM;
  const long long col0 = static_cast<long long>(blockIdx.x % tiles_n) * BN;
  const bool full = aligned && row0 + BM <= M && col0 + BN <= N;
  const int lane = tid % 32, warp = tid / 32;
  // rows from lane bits 1 and 4, columns from bits 0, 2 and 3
  const int lane_row = (lane >> 1 & 1) | (lane >> 3 & 2), lane_col = (lane & 1) | (lane >> 1 & 6);
  const int thread_col = warp % (BN / WN) * WN + lane_col * 4, thread_row = warp / (BN / WN) * WM + lane_row * 4;
  const int a_row = tid / (BK / 4), a_k = tid % (BK / 4) * 4, b_k = tid / (BN / 4), b_col = tid % (BN / 4) * 4;
  float acc[TM][TN] = {};
  float4 a4, b4;  // the tile in flight
  const auto load = [&](long long k0) {
    const float *from_a = &A[(row0 + a_row) * lda + k0 + a_k], *from_b = &B[(k0 + b_k) * ldb + col0 + b_col];
    if (full && k0 + BK <= K) {
      a4 = as4(*from_a), b4 = as4(*from_b);
    } else {
      a4 = load4_guarded(from_a, row0 + a_row < M ? K - k0 - a_k : 0);
      b4 = load4_guarded(from_b, k0 + b_k < K ? N - col0 - b_col : 0);
    }
  };
  const auto store = [&](int s) {
    As[s][a_k][a_row] = a4.x, As[s][a_k + 1][a_row] = a4.y, As[s][a_k + 2][a_row] = a4.z, As[s][a_k + 3][a_row] = a4.w;
    as4(Bs[s][b_k][b_col]) = b4;
  };
  float regM[2][TM], regN[2][TN];  // fragments for k and k + 1
  const auto read = [&](int s, int k) {
#pragma unroll
    for (int i = 0; i < TM; i += 4) as4(regM[k % 2][i]) = as4(As[s][k][thread_row + i / 4 * kSubtileM]);
#pragma unroll
    for (int j = 0; j < TN; j += 4) as4(regN[k % 2][j]) = as4(Bs[s][k][thread_col + j / 4 * kSubtileN]);
  };

  // prologue
  if (K > 0) load(0), store(0);
  // main loop
  int s = 0;  // the buffer in use
  for (long long k0 = 0; k0 < K; k0 += BK, s ^= 1) {
    __syncthreads();  // buffer s is complete, and all threads have read the other one
    if (k0 + BK < K) load(k0 + BK);
    read(s, 0);
#pragma unroll
    for (int k = 0; k < BK; ++k) {
      if (k + 1 < BK) read(s, k + 1);
#pragma unroll
      for (int i = 0; i < TM; ++i) {
#pragma unroll
        for (int j = 0; j < TN; ++j) acc[i][j] += regM[k % 2][i] * regN[k % 2][j];
      }
    }
    if (k0 + BK < K) store(s ^ 1);
  }
  // epilogue: four rows of the warp's tile at a time, one from each row of lanes
  const long long warp_row0 = row0 + warp / (BN / WN) * WM, warp_col0 = col0 + warp % (BN / WN) * WN;
#pragma unroll
  for (int i = 0; i < TM; ++i) {
#pragma unroll
    for (int j = 0; j < TN; j += 4) {
      as4(Cs[warp][lane_row][lane_col * 4 + j / 4 * kSubtileN]) =
          make_float4(alpha * acc[i][j], alpha * acc[i][j + 1], alpha * acc[i][j + 2], alpha * acc[i][j + 3]);
    }
    __syncwarp();
#pragma unroll
    for (int e = lane; e < 4 * WN; e += 32) {
      const int r = e / WN, c = e % WN;
      const long long row = warp_row0 + r * 4 + i / 4 * kSubtileM + i % 4, col = warp_col0 + c;
      if (row >= M || col >= N) continue;
      float& to = C[row * ldc + col];
      to = beta == 0.0f ? Cs[warp][r][c] : Cs[warp][r][c] + beta * to;
    }
    __syncwarp();  // all lanes have read Cs
  }
}

static void launch(std::size_t M, std::size_t N, std::size_t K, float alpha, const float* A, std::size_t lda,
                   const float* B, std::size_t ldb, float beta, float* C, std::size_t ldc) {
  if (M == 0 || N == 0) return;
  if (alpha == 0) K = 0;  // A and B are not read
  const auto tiles_m = static_cast<unsigned>(ceil_div(M, BM)), tiles_n = static_cast<unsigned>(ceil_div(N, BN));
  const bool aligned = aligned_for<float4>(A, B) && lda % 4 == 0 && ldb % 4 == 0;
  sgemm_staged_store<<<tiles_m * tiles_n, kThreads>>>(M, N, K, alpha, A, lda, B, ldb, beta, C, ldc, tiles_n, aligned);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Sgemm, launch);
