// bug: a barrier, but no wait for the copies: it makes stores visible, not what cp.async has yet to bring
// caught by: cpu forward | is wrong
// caught by: cpu-asan forward | is wrong
// caught by: gpu racecheck | hazard | --m=8 --n=8 --k=20
#include "../sgemm.cuh"

#include <cuda_pipeline.h>

constexpr unsigned kTile = 8;

__global__ void sgemm_without_wait(std::size_t m, std::size_t n, std::size_t k, float alpha,
                                   const float* __restrict__ A, std::size_t lda, const float* __restrict__ B,
                                   std::size_t ldb, float beta, float* __restrict__ C, std::size_t ldc,
                                   unsigned tiles_n) {
  __shared__ float a[2][kTile][kTile], b[2][kTile][kTile];
  const unsigned tx = threadIdx.x, ty = threadIdx.y;
  const std::size_t row = std::size_t{blockIdx.x / tiles_n} * kTile + ty;
  const std::size_t column = std::size_t{blockIdx.x % tiles_n} * kTile + tx;
  float sum = 0.0f;
  const auto copy = [&](int s, std::size_t l0) {
    const bool in_a = row < m && l0 + tx < k, in_b = l0 + ty < k && column < n;
    __pipeline_memcpy_async(&a[s][ty][tx], in_a ? &A[row * lda + l0 + tx] : A, 4, in_a ? 0 : 4);
    __pipeline_memcpy_async(&b[s][ty][tx], in_b ? &B[(l0 + ty) * ldb + column] : B, 4, in_b ? 0 : 4);
  };
  int s = 0;
  if (k > 0) copy(0, 0);
  __pipeline_commit();
  for (std::size_t l0 = 0; l0 < k; l0 += kTile, s ^= 1) {
    if (l0 + kTile < k) copy(s ^ 1, l0 + kTile);
    __pipeline_commit();
    // __pipeline_wait_prior(1) is needed here
    __syncthreads();
#pragma unroll
    for (unsigned l = 0; l < kTile; ++l) sum += a[s][ty][l] * b[s][l][tx];
    __syncthreads();
  }
  if (row >= m || column >= n) return;
  float* c = &C[row * ldc + column];
  *c = beta == 0.0f ? alpha * sum : alpha * sum + beta * *c;
}

static void launch(std::size_t m, std::size_t n, std::size_t k, float alpha, const float* A, std::size_t lda,
                   const float* B, std::size_t ldb, float beta, float* C, std::size_t ldc) {
  if (m == 0 || n == 0) return;
  if (alpha == 0) k = 0;  // A and B are not read
  const auto tiles_m = static_cast<unsigned>(ceil_div(m, kTile)), tiles_n = static_cast<unsigned>(ceil_div(n, kTile));
  const dim3 block(kTile, kTile);
  sgemm_without_wait<<<tiles_m * tiles_n, block>>>(m, n, k, alpha, A, lda, B, ldb, beta, C, ldc, tiles_n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Sgemm, launch);
