// Problem:  at 4095 and 4097 most rows are not 16-byte aligned: step 11 loads single floats and checks each.
// Idea:     zero padding: a kernel first copies A and B, padding rows to a multiple of 16 bytes and K to whole tiles.
// Expect:   1.1 to 1.2x step 11 at 4097: a quarter of the load instructions, no checks; the copies take 3 %.
// Measured: 1.15x step 11, 0.90x cuBLAS at 4097 (H200); 1.14x, 0.90x (H100).
// Next:     the next tile passes through 8 registers, by load and store. What copies without them? (cp.async, sm_80)
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

// Copies rows x cols floats and pads them with zeros to to_rows x to_ld, a multiple of 4. One thread per float4.
__global__ void pad_with_zeros(long long rows, long long cols, const float* __restrict__ from, long long ld,
                               long long to_rows, long long to_ld, float4* __restrict__ to) {
  const long long i = blockIdx.x * 256LL + threadIdx.x, row = i / (to_ld / 4), col = i % (to_ld / 4) * 4;
  if (row < to_rows) to[i] = load4_guarded(&from[row * ld + col], row < rows ? cols - col : 0);
}

template <typename Tag>
static const float* padded(std::size_t rows, std::size_t cols, const float* from, std::size_t& ld, std::size_t to_rows,
                           std::size_t to_ld) {
  if (rows == 0 || cols == 0) return from;
  float4* to = scratch<float4, Tag>(to_rows * to_ld / 4);
  pad_with_zeros<<<static_cast<unsigned>(ceil_div(to_rows * to_ld / 4, 256)), 256>>>(rows, cols, from, ld, to_rows,
                                                                                     to_ld, to);
  CUDA_CHECK(cudaGetLastError());
  ld = to_ld;
  return &to->x;
}

// K must be a multiple of BK, rows of A and B 16-byte aligned, and rows of B readable up to a multiple of 4.
__global__ void __launch_bounds__(kThreads, 2)
    sgemm_zero_padded(long long M, long long N, long long K, float alpha, const float* __restrict__ A, long long lda,
                      const float* __restrict__ B, long long ldb, float beta, float* __restrict__ C, long long ldc,
                      unsigned tiles_n) {
  __shared__ alignas(16) float As[2][BK][BM + kPad], Bs[2][BK][BN], Cs[kThreads / 32][4][WN + kPadC];
  const int tid = threadIdx.x;
  const long long row0 = static_cast<long long>(blockIdx.x / tiles_n) * BM;
  const long long col0 = static_cast<long long>(blockIdx.x % tiles_n) * BN;
  const int lane = tid % 32, warp = tid / 32;
  // rows from lane bits 1 and 4, columns from bits 0, 2 and 3
  const int lane_row = (lane >> 1 & 1) | (lane >> 3 & 2), lane_col = (lane & 1) | (lane >> 1 & 6);
  const int thread_col = warp % (BN / WN) * WN + lane_col * 4, thread_row = warp / (BN / WN) * WM + lane_row * 4;
  const int a_row = tid / (BK / 4), a_k = tid % (BK / 4) * 4, b_k = tid / (BN / 4), b_col = tid % (BN / 4) * 4;
  float acc[TM][TN] = {};
  // Rows and columns past the edge repeat the last ones: their products are not stored.
  const float* from_a = A + min(row0 + a_row, M - 1) * lda + a_k;
  const float* from_b = B + b_k * ldb + min(col0 + b_col, (N - 1) / 4 * 4);
  float4 a4, b4;  // the tile in flight
  const auto load = [&] {
    a4 = as4(*from_a), b4 = as4(*from_b);
    from_a += BK;
    from_b += BK * ldb;
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
  const int tiles = static_cast<int>(K / BK);
  if (tiles > 0) load(), store(0);
  // main loop
  int s = 0;  // the buffer in use
  for (int left = tiles - 1; left >= 0; --left, s ^= 1) {
    __syncthreads();  // buffer s is complete, and all threads have read the other one
    if (left > 0) load();
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
    if (left > 0) store(s ^ 1);
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
  const std::size_t K_to = ceil_div(K, BK) * BK, N_to = ceil_div(N, 4) * 4;
  if (K_to > K || !aligned_for<float4>(A) || lda % 4 != 0) A = padded<struct PaddedA>(M, K, A, lda, M, K_to);
  if (K_to > K || N_to > N || !aligned_for<float4>(B) || ldb % 4 != 0) {
    B = padded<struct PaddedB>(K, N, B, ldb, K_to, N_to);
  }
  sgemm_zero_padded<<<tiles_m * tiles_n, kThreads>>>(M, N, K_to, alpha, A, lda, B, ldb, beta, C, ldc, tiles_n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Sgemm, launch);
