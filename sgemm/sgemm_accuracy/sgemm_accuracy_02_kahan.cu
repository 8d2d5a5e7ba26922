// Problem:  step 01 adds in double, which A100, H100 and B200 do at half the FP32 rate, others at 1/32 or 1/64.
// Idea:     Kahan's compensated sum: `lost` is the last addition's rounding error, which is taken off the next product.
// Expect:   1.0 to 1.3x step 01 on an H100: four dependent FP32 operations per product, and the same words from shared
//           memory. Up to 8x where FP64 runs at 1/64 of the FP32 rate.
// Measured: 2.05x step 01, 6.26 TFLOP/s at 4096 (H200).
// Why:      the expectation left out step 01's two conversions per product, of which an SM does 16 per clock.
// Next:     when is this worth it, and what is cheaper? (Compensate once per tile of k instead of once per product.)
#include "sgemm_accuracy.cuh"

#include <cfloat>

constexpr unsigned kTile = 32;

__global__ void sgemm_kahan_sum(std::size_t M, std::size_t N, std::size_t K, float alpha, const float* __restrict__ A,
                                std::size_t lda, const float* __restrict__ B, std::size_t ldb, float beta,
                                float* __restrict__ C, std::size_t ldc, unsigned tiles_n) {
  __shared__ float As[kTile][kTile], Bs[kTile][kTile];
  const unsigned tx = threadIdx.x, ty = threadIdx.y;
  const std::size_t row = std::size_t{blockIdx.x / tiles_n} * kTile + ty;
  const std::size_t col = std::size_t{blockIdx.x % tiles_n} * kTile + tx;
  float acc = 0.0f, lost = 0.0f;
  for (std::size_t k0 = 0; k0 < K; k0 += kTile) {
    // load
    As[ty][tx] = row < M && k0 + tx < K ? A[row * lda + k0 + tx] : 0.0f;
    Bs[ty][tx] = k0 + ty < K && col < N ? B[(k0 + ty) * ldb + col] : 0.0f;
    __syncthreads();
    // compute
#pragma unroll
    for (unsigned k = 0; k < kTile; ++k) {
      const float y = As[ty][k] * Bs[k][tx] - lost;
      const float t = acc + y;
      lost = fabsf(t) <= FLT_MAX ? (t - acc) - y : 0.0f;  // an infinite sum has lost nothing: inf - inf is NaN
      acc = t;
    }
    __syncthreads();
  }
  // store
  if (row >= M || col >= N) return;
  float& c = C[row * ldc + col];
  c = beta == 0.0f ? alpha * acc : alpha * acc + beta * c;
}

static void launch(std::size_t M, std::size_t N, std::size_t K, float alpha, const float* A, std::size_t lda,
                   const float* B, std::size_t ldb, float beta, float* C, std::size_t ldc) {
  if (M == 0 || N == 0) return;
  if (alpha == 0) K = 0;  // A and B are not read
  const auto tiles_m = static_cast<unsigned>(ceil_div(M, kTile)), tiles_n = static_cast<unsigned>(ceil_div(N, kTile));
  const dim3 block(kTile, kTile);
  sgemm_kahan_sum<<<tiles_m * tiles_n, block>>>(M, N, K, alpha, A, lda, B, ldb, beta, C, ldc, tiles_n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(SgemmAccuracy, launch);
