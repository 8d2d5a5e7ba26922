// Problem:  step 03 reuses A's elements, but loads B again for each row of C.
// Idea:     tiles of both matrices in shared memory, 32 x 32 of C per block. Each element is used 32 times.
// Expect:   at most 1.7x step 03 (H200), 1.9x (H100): two words per multiply-add at 32 per clock: 8.4 TFLOP/s.
// Measured: 1.58x step 03, 0.16x cuBLAS at 4096 (H200); 1.83x, 0.16x (H100).
// Why:      8.4 isn't the bound: a float4 from one address brings four words in two wavefronts, so it is 11.2 (ncu).
// Next:     how can one word from shared memory serve several multiply-adds?
#include "sgemm.cuh"

constexpr unsigned kTile = 32;

__global__ void sgemm_square_tile(std::size_t M, std::size_t N, std::size_t K, float alpha, const float* __restrict__ A,
                                  std::size_t lda, const float* __restrict__ B, std::size_t ldb, float beta,
                                  float* __restrict__ C, std::size_t ldc, unsigned tiles_n) {
  __shared__ float As[kTile][kTile], Bs[kTile][kTile];
  const unsigned tx = threadIdx.x, ty = threadIdx.y;
  const std::size_t row = std::size_t{blockIdx.x / tiles_n} * kTile + ty;
  const std::size_t col = std::size_t{blockIdx.x % tiles_n} * kTile + tx;
  float acc = 0.0f;
  for (std::size_t k0 = 0; k0 < K; k0 += kTile) {
    // load, zeros past the edges
    As[ty][tx] = row < M && k0 + tx < K ? A[row * lda + k0 + tx] : 0.0f;
    Bs[ty][tx] = k0 + ty < K && col < N ? B[(k0 + ty) * ldb + col] : 0.0f;
    __syncthreads();  // the tiles are complete
#pragma unroll
    for (unsigned k = 0; k < kTile; ++k) acc += As[ty][k] * Bs[k][tx];
    __syncthreads();  // all threads have read them
  }
  // store; a thread without an element of C may return only now, after the last barrier
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
  sgemm_square_tile<<<tiles_m * tiles_n, block>>>(M, N, K, alpha, A, lda, B, ldb, beta, C, ldc, tiles_n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Sgemm, launch);
