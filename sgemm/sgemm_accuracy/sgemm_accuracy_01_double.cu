// Problem:  a sum of K products in FP32 is rounded K times, so its error bound grows with K (sgemm, step 04).
// Idea:     add in double: products of floats are exact there, and K roundings of 2^-53 are small beside one of 2^-24.
// Expect:   0.05 to 0.15x cuBLAS at 4096 on an H100 (sgemm's step 04: 0.16x): the same words from shared memory, but
//           two conversions and an FP64 multiply-add at half the rate per product.
// Measured: 3.06 TFLOP/s at 4096 (H200).
// Next:     on a GeForce card FP64 has 1/32 or 1/64 of the FP32 rate. Can FP32 alone do it?
#include "sgemm_accuracy.cuh"

constexpr unsigned kTile = 32;

__global__ void sgemm_double_sum(std::size_t M, std::size_t N, std::size_t K, float alpha, const float* __restrict__ A,
                                 std::size_t lda, const float* __restrict__ B, std::size_t ldb, float beta,
                                 float* __restrict__ C, std::size_t ldc, unsigned tiles_n) {
  __shared__ float As[kTile][kTile], Bs[kTile][kTile];
  const unsigned tx = threadIdx.x, ty = threadIdx.y;
  const std::size_t row = std::size_t{blockIdx.x / tiles_n} * kTile + ty;
  const std::size_t col = std::size_t{blockIdx.x % tiles_n} * kTile + tx;
  double acc = 0.0;
  for (std::size_t k0 = 0; k0 < K; k0 += kTile) {
    // load
    As[ty][tx] = row < M && k0 + tx < K ? A[row * lda + k0 + tx] : 0.0f;
    Bs[ty][tx] = k0 + ty < K && col < N ? B[(k0 + ty) * ldb + col] : 0.0f;
    __syncthreads();
    // compute
#pragma unroll
    for (unsigned k = 0; k < kTile; ++k) acc += static_cast<double>(As[ty][k]) * Bs[k][tx];
    __syncthreads();
  }
  // store
  if (row >= M || col >= N) return;
  const auto sum = static_cast<float>(acc);
  float& c = C[row * ldc + col];
  c = beta == 0.0f ? alpha * sum : alpha * sum + beta * c;
}

static void launch(std::size_t M, std::size_t N, std::size_t K, float alpha, const float* A, std::size_t lda,
                   const float* B, std::size_t ldb, float beta, float* C, std::size_t ldc) {
  if (M == 0 || N == 0) return;
  if (alpha == 0) K = 0;  // A and B are not read
  const auto tiles_m = static_cast<unsigned>(ceil_div(M, kTile)), tiles_n = static_cast<unsigned>(ceil_div(N, kTile));
  const dim3 block(kTile, kTile);
  sgemm_double_sum<<<tiles_m * tiles_n, block>>>(M, N, K, alpha, A, lda, B, ldb, beta, C, ldc, tiles_n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(SgemmAccuracy, launch);
