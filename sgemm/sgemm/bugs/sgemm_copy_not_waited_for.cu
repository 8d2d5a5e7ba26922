// bug: a barrier, but no wait for the copies: a barrier makes stores visible, not copies that have not arrived
// caught by: cpu forward | is wrong
// caught by: cpu-asan forward | is wrong
// caught by: cpu-trace | shared memory with no barrier between
// caught by: gpu racecheck | hazard | --m=8 --n=8 --k=20
// stage: right
#include "../sgemm.cuh"

#include <cuda_pipeline.h>

constexpr unsigned kTile = 8;

__global__ void sgemm_without_wait(std::size_t M, std::size_t N, std::size_t K, float alpha,
                                   const float* __restrict__ A, std::size_t lda, const float* __restrict__ B,
                                   std::size_t ldb, float beta, float* __restrict__ C, std::size_t ldc,
                                   unsigned tiles_n) {
  __shared__ float As[2][kTile][kTile], Bs[2][kTile][kTile];
  const unsigned tx = threadIdx.x, ty = threadIdx.y;
  const std::size_t row = std::size_t{blockIdx.x / tiles_n} * kTile + ty;
  const std::size_t col = std::size_t{blockIdx.x % tiles_n} * kTile + tx;
  float acc = 0.0f;
  const auto copy = [&](int s, std::size_t k0) {
    const bool in_a = row < M && k0 + tx < K, in_b = k0 + ty < K && col < N;
    __pipeline_memcpy_async(&As[s][ty][tx], in_a ? &A[row * lda + k0 + tx] : A, 4, in_a ? 0 : 4);
    __pipeline_memcpy_async(&Bs[s][ty][tx], in_b ? &B[(k0 + ty) * ldb + col] : B, 4, in_b ? 0 : 4);
  };
  int s = 0;
  if (K > 0) copy(0, 0);
  __pipeline_commit();
  for (std::size_t k0 = 0; k0 < K; k0 += kTile, s ^= 1) {
    if (k0 + kTile < K) copy(s ^ 1, k0 + kTile);
    __pipeline_commit();
    // __pipeline_wait_prior(1) is needed here
    __syncthreads();
#pragma unroll
    for (unsigned k = 0; k < kTile; ++k) acc += As[s][ty][k] * Bs[s][k][tx];
    __syncthreads();
  }
  if (row >= M || col >= N) return;
  float* c = &C[row * ldc + col];
  *c = beta == 0.0f ? alpha * acc : alpha * acc + beta * *c;
}

static void launch(std::size_t M, std::size_t N, std::size_t K, float alpha, const float* A, std::size_t lda,
                   const float* B, std::size_t ldb, float beta, float* C, std::size_t ldc) {
  if (M == 0 || N == 0) return;
  if (alpha == 0) K = 0;  // A and B are not read
  const auto tiles_m = static_cast<unsigned>(ceil_div(M, kTile)), tiles_n = static_cast<unsigned>(ceil_div(N, kTile));
  const dim3 block(kTile, kTile);
  sgemm_without_wait<<<tiles_m * tiles_n, block>>>(M, N, K, alpha, A, lda, B, ldb, beta, C, ldc, tiles_n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Sgemm, launch);
