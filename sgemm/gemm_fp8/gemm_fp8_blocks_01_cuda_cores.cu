// Problem:  with one scale per matrix, one large activation makes all others small, and small e4m3 numbers have fewer
//           bits. And tensor cores lose bits when they add thousands of products.
// Idea:     a scale per k-block of 128. A k-block's sum is scaled and added to the result: two levels of sums.
// Expect:   0.85 to 1.0x gemm_fp8 01: 16 more multiply-adds and 8 more loads of scales per 128 k and thread cost
//           little, but two sets of sums take 103 registers, not 64, so two blocks share an SM, not four.
// Measured: 0.014x cuBLASLt at 8192 (H200).
// Next:     which part of this can tensor cores do?
#include "gemm_fp8_blocks.cuh"

constexpr int BM = 64, BN = 64, BK = 32, kBlock = 128;
constexpr int kThreads = 256;  // 16 x 16; each has every 16th row and column of the tile

__global__ void __launch_bounds__(kThreads)
    gemm_fp8_blocks_cuda_cores(long long M, long long N, long long K, const std::uint8_t* __restrict__ A,
                               const std::uint8_t* __restrict__ B, const float* __restrict__ a_scales,
                               const float* __restrict__ b_scales, float* __restrict__ C, unsigned tiles_n) {
  __shared__ float As[BK][BM + 1], Bs[BK][BN + 1];
  const int tid = threadIdx.x, tx = tid % 16, ty = tid / 16;
  const long long row0 = static_cast<long long>(blockIdx.x / tiles_n) * BM;
  const long long col0 = static_cast<long long>(blockIdx.x % tiles_n) * BN;
  const long long blocks = (K + kBlock - 1) / kBlock;
  float total[4][4] = {}, sum[4][4] = {};
  for (long long k0 = 0; k0 < K; k0 += BK) {
    // load and convert, zeros past the edges: a warp reads 32 neighbouring bytes
    const long long k = k0 + tid % BK;
    for (int i = tid / BK; i < BM; i += kThreads / BK) {
      As[tid % BK][i] = row0 + i < M && k < K ? from_e4m3(A[(row0 + i) * K + k]) : 0;
      Bs[tid % BK][i] = col0 + i < N && k < K ? from_e4m3(B[(col0 + i) * K + k]) : 0;
    }
    __syncthreads();
#pragma unroll
    for (int l = 0; l < BK; ++l) {
      for (int i = 0; i < 4; ++i) {
        for (int j = 0; j < 4; ++j) sum[i][j] += As[l][ty + 16 * i] * Bs[l][tx + 16 * j];
      }
    }
    __syncthreads();
    if ((k0 + BK) % kBlock != 0 && k0 + BK < K) continue;
    // the block ends here: promote its sum
    const long long block = k0 / kBlock;
    for (int i = 0; i < 4; ++i) {
      for (int j = 0; j < 4; ++j) {
        const long long row = min(row0 + ty + 16 * i, M - 1), col = min(col0 + tx + 16 * j, N - 1);
        total[i][j] += sum[i][j] * (a_scales[row * blocks + block] * b_scales[col / kBlock * blocks + block]);
        sum[i][j] = 0;
      }
    }
  }
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 4; ++j) {
      const long long row = row0 + ty + 16 * i, col = col0 + tx + 16 * j;
      if (row < M && col < N) C[row * N + col] = total[i][j];
    }
  }
}

static void launch(const std::uint8_t* A, const std::uint8_t* B, const float* a_scales, const float* b_scales, float* C,
                   std::size_t M, std::size_t N, std::size_t K) {
  if (M == 0 || N == 0) return;
  const auto tiles_m = static_cast<unsigned>(ceil_div(M, BM)), tiles_n = static_cast<unsigned>(ceil_div(N, BN));
  gemm_fp8_blocks_cuda_cores<<<tiles_m * tiles_n, kThreads>>>(M, N, K, A, B, a_scales, b_scales, C, tiles_n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(GemmFp8Blocks, launch);
