// Problem:  accuracy, not speed: step 04 rounds each sum K times, so its error bound grows with K.
// Idea:     Kahan's compensated sum. `lost` holds what the last addition rounded off; the next product makes up for it.
//           The bound becomes 5 roundings for any K.
// Expect:   0.6 to 0.8x step 04: four dependent operations per product instead of one, and the same two words from
//           shared memory, which stays the limit.
// Measured: 0.78x step 04, 0.12x cuBLAS at 4096 (H200); 0.78x, 0.12x (H100).
// Next:     when is this worth it, and what is cheaper? (Compensate once per tile of k, or add in double.)
#include "sgemm.cuh"

#include <cfloat>

constexpr unsigned kTile = 32;

__global__ void sgemm_kahan_tile(std::size_t M, std::size_t N, std::size_t K, float alpha, const float* __restrict__ A,
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
  sgemm_kahan_tile<<<tiles_m * tiles_n, block>>>(M, N, K, alpha, A, lda, B, ldb, beta, C, ldc, tiles_n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(SgemmCompensated, launch);
