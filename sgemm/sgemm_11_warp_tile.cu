// In step 10 a warp's threads form 2 rows of 16: for each l it reads 16 elements of a column of A and 128 of a row of
// B, 144 in all, for 2048 products. Idea: warp tiles. A warp takes 32 x 64 elements of C, its lanes 4 x 8 threads with
// 8 x 8 elements each: 96 elements for the same products. Each thread's 8 rows are two groups of 4 now, like its
// columns, so that the lanes that read at a time read neighbouring float4. Lane numbers are woven: bit 0 and the upper
// bits count columns, bit 1 and the top bit rows; each aligned pair of lanes shares its rows and each pair of pairs its
// columns, and then the hardware merges the 8-lane parts of a float4 load two by two.
// Expect: no gain on an H100, rather two per cent less: a float4 load brings 512 bytes to the registers, shared or not.
// Next question: the tile's way leads through registers: 8 of them, and a load and a store instruction. Who could copy
// instead? (cp.async, from sm_80 on.)
#include "float4_access.cuh"

constexpr int BM = 128, BN = 128, BK = 8;
constexpr int TM = 8, TN = 8;
constexpr int kThreads = (BM / TM) * (BN / TN);
constexpr int kPad = 4;                // floats
constexpr int WM = 32, WN = 64;        // a warp's tile of C
constexpr int kHopM = 16, kHopN = 32;  // from a thread's first four rows or columns to its second four
static_assert(WM / TM == 4 && WN / TN == 8, "the lanes form 4 rows of 8");
static_assert(BM * BK == 4 * kThreads && BK * BN == 4 * kThreads, "each thread loads a float4 of A and one of B");

__global__ void __launch_bounds__(kThreads, 2)
    sgemm_warp_tile(long long m, long long n, long long k, float alpha, const float* __restrict__ A, long long lda,
                    const float* __restrict__ B, long long ldb, float beta, float* __restrict__ C, long long ldc,
                    unsigned tiles_n, bool aligned) {
  __shared__ alignas(16) float a[2][BK][BM + kPad], b[2][BK][BN];
  const int tid = threadIdx.x;
  const long long row0 = static_cast<long long>(blockIdx.x / tiles_n) * BM;
  const long long column0 = static_cast<long long>(blockIdx.x % tiles_n) * BN;
  const bool full = aligned && row0 + BM <= m && column0 + BN <= n;
  const int lane = tid % 32, warp = tid / 32;
  const int lane_row = (lane >> 1 & 1) | (lane >> 3 & 2), lane_column = (lane & 1) | (lane >> 1 & 6);
  const int tx = warp % (BN / WN) * WN + lane_column * 4, ty = warp / (BN / WN) * WM + lane_row * 4;
  const int a_row = tid / (BK / 4), a_l = tid % (BK / 4) * 4, b_l = tid / (BN / 4), b_column = tid % (BN / 4) * 4;
  float sum[TM][TN] = {};
  float4 va, vb;
  const auto load = [&](long long l0) {
    const float *from_a = &A[(row0 + a_row) * lda + l0 + a_l], *from_b = &B[(l0 + b_l) * ldb + column0 + b_column];
    if (full && l0 + BK <= k) {
      va = as4(*from_a), vb = as4(*from_b);
    } else {
      va = load4_guarded(from_a, row0 + a_row < m ? k - l0 - a_l : 0);
      vb = load4_guarded(from_b, l0 + b_l < k ? n - column0 - b_column : 0);
    }
  };
  const auto store = [&](int s) {
    a[s][a_l][a_row] = va.x, a[s][a_l + 1][a_row] = va.y, a[s][a_l + 2][a_row] = va.z, a[s][a_l + 3][a_row] = va.w;
    as4(b[s][b_l][b_column]) = vb;
  };
  float al[2][TM], bl[2][TN];
  const auto read = [&](int s, int l) {
#pragma unroll
    for (int i = 0; i < TM; i += 4) as4(al[l % 2][i]) = as4(a[s][l][ty + i / 4 * kHopM]);
#pragma unroll
    for (int j = 0; j < TN; j += 4) as4(bl[l % 2][j]) = as4(b[s][l][tx + j / 4 * kHopN]);
  };

  if (k > 0) load(0), store(0);
  int s = 0;  // the pair of tiles in use
  for (long long l0 = 0; l0 < k; l0 += BK, s ^= 1) {
    __syncthreads();  // pair s is complete, and the other one is not read any more
    if (l0 + BK < k) load(l0 + BK);
    read(s, 0);
#pragma unroll
    for (int l = 0; l < BK; ++l) {
      if (l + 1 < BK) read(s, l + 1);
#pragma unroll
      for (int i = 0; i < TM; ++i) {
#pragma unroll
        for (int j = 0; j < TN; ++j) sum[i][j] += al[l % 2][i] * bl[l % 2][j];
      }
    }
    if (l0 + BK < k) store(s ^ 1);
  }
#pragma unroll
  for (int i = 0; i < TM; ++i) {
    const long long row = row0 + ty + i / 4 * kHopM + i % 4;
#pragma unroll
    for (int j = 0; j < TN; j += 4) {
      const long long column = column0 + tx + j / 4 * kHopN;
      const float* s = &sum[i][j];
      const float4 v = make_float4(alpha * s[0], alpha * s[1], alpha * s[2], alpha * s[3]);
      if (full) {
        store4(C[row * ldc + column], v, beta);
      } else if (row < m) {
        store4_guarded(&C[row * ldc + column], v, beta, n - column);
      }
    }
  }
}

static void launch(std::size_t m, std::size_t n, std::size_t k, float alpha, const float* A, std::size_t lda,
                   const float* B, std::size_t ldb, float beta, float* C, std::size_t ldc) {
  if (m == 0 || n == 0) return;
  if (alpha == 0) k = 0;  // A and B are not read
  const auto tiles_m = static_cast<unsigned>(ceil_div(m, BM)), tiles_n = static_cast<unsigned>(ceil_div(n, BN));
  const bool aligned = aligned_for<float4>(A, B, C) && lda % 4 == 0 && ldb % 4 == 0 && ldc % 4 == 0;
  sgemm_warp_tile<<<tiles_m * tiles_n, kThreads>>>(m, n, k, alpha, A, lda, B, ldb, beta, C, ldc, tiles_n, aligned);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Sgemm, launch);
