// bug: the next tile is copied into the other stage before all threads are done with it: a fast thread starts the next
// round, and its copies land where slow ones still read. An asynchronous copy may land at once, or late; then all is
// well.
// caught by: cpu reverse | is wrong
// caught by: cpu random:1 | is wrong
// caught by: cpu-asan reverse | is wrong
// caught by: gpu racecheck | hazard | --m=32 --n=32 --k=96
#include "../sgemm.cuh"

#include <cuda_pipeline.h>

constexpr unsigned kTile = 32;

__global__ void sgemm_one_barrier_too_few(std::size_t m, std::size_t n, std::size_t k, float alpha,
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
    __pipeline_wait_prior(1);
    __syncthreads();
#pragma unroll
    for (unsigned l = 0; l < kTile; ++l) sum += a[s][ty][l] * b[s][l][tx];
    // __syncthreads() is needed here, or the copies must come after the one above
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
  sgemm_one_barrier_too_few<<<tiles_m * tiles_n, block>>>(m, n, k, alpha, A, lda, B, ldb, beta, C, ldc, tiles_n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Sgemm, launch);
