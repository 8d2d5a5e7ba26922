// Problem:  GPUs before sm_89 have no instruction for FP8, and their FP32 units can't compute on bytes.
// Idea:     store bytes, compute in FP32: a tile is converted when it is stored in shared memory, once for 64 results.
//           Exponent and mantissa of e4m3, shifted left, are those of a float 2^120 times too small.
// Expect:   0.01 to 0.03x cuBLASLt at 4096: FP32 FMAs reach 67 TFLOP/s on an H100, and this is a plain tile of 4 x 4
//           results per thread.
// Measured: 0.016x cuBLASLt at 4096 (H200).
// Next:     what multiplies bytes in this format? (mma.sync on e4m3, sm_89) What does its sum lose?
#include "gemm_fp8.cuh"

constexpr int BM = 64, BN = 64, BK = 32;
constexpr int kThreads = 256;  // 16 x 16; each has every 16th row and column of the tile

__global__ void __launch_bounds__(kThreads)
    gemm_fp8_cuda_cores(long long M, long long N, long long K, const std::uint8_t* __restrict__ A,
                        const std::uint8_t* __restrict__ B, const float* __restrict__ a_scales,
                        const float* __restrict__ b_scales, float* __restrict__ C, unsigned tiles_n) {
  __shared__ float As[BK][BM + 1], Bs[BK][BN + 1];
  const int tid = threadIdx.x, tx = tid % 16, ty = tid / 16;
  const long long row0 = static_cast<long long>(blockIdx.x / tiles_n) * BM;
  const long long col0 = static_cast<long long>(blockIdx.x % tiles_n) * BN;
  float sum[4][4] = {};
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
  }
  const float scale = a_scales[0] * b_scales[0];
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 4; ++j) {
      const long long row = row0 + ty + 16 * i, col = col0 + tx + 16 * j;
      if (row < M && col < N) C[row * N + col] = sum[i][j] * scale;
    }
  }
}

static void launch(const std::uint8_t* A, const std::uint8_t* B, const float* a_scales, const float* b_scales, float* C,
                   std::size_t M, std::size_t N, std::size_t K) {
  if (M == 0 || N == 0) return;
  const auto tiles_m = static_cast<unsigned>(ceil_div(M, BM)), tiles_n = static_cast<unsigned>(ceil_div(N, BN));
  gemm_fp8_cuda_cores<<<tiles_m * tiles_n, kThreads>>>(M, N, K, A, B, a_scales, b_scales, C, tiles_n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(GemmFp8, launch);
