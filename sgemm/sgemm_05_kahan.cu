// Not faster than step 04, but more accurate. There the error of an element grows with k: a partial sum is rounded k
// times. Idea: Kahan's compensated sum. `lost` is what the last addition cut off, found as (t - sum) - y,
// and the next product makes up for it. Then the bound no longer depends on k: some five roundings in all, though a
// million products were added. An infinite sum has lost nothing: inf - inf would make NaN of it. The compiler must not
// simplify (t - sum) - y to 0, and C++ forbids it; nvcc keeps to that, g++ does but for -ffast-math.
// Expect: four dependent operations instead of one for each product, but still two loads from shared memory: slower,
// though not four times.
// Next question: when is that worth it, and what would be cheaper? (Sums in double; pairwise sums: add up tiles of k in
// float, then the tiles' sums with Kahan, one compensation per 32 products.)
#include "sgemm.cuh"

#include <cfloat>

constexpr unsigned kTile = 32;

__global__ void sgemm_kahan_tile(std::size_t m, std::size_t n, std::size_t k, float alpha, const float* __restrict__ A,
                                 std::size_t lda, const float* __restrict__ B, std::size_t ldb, float beta,
                                 float* __restrict__ C, std::size_t ldc, unsigned tiles_n) {
  __shared__ float a[kTile][kTile], b[kTile][kTile];
  const unsigned tx = threadIdx.x, ty = threadIdx.y;
  const std::size_t row = std::size_t{blockIdx.x / tiles_n} * kTile + ty;
  const std::size_t column = std::size_t{blockIdx.x % tiles_n} * kTile + tx;
  float sum = 0.0f, lost = 0.0f;
  for (std::size_t l0 = 0; l0 < k; l0 += kTile) {
    a[ty][tx] = row < m && l0 + tx < k ? A[row * lda + l0 + tx] : 0.0f;
    b[ty][tx] = l0 + ty < k && column < n ? B[(l0 + ty) * ldb + column] : 0.0f;
    __syncthreads();
#pragma unroll
    for (unsigned l = 0; l < kTile; ++l) {
      const float y = a[ty][l] * b[l][tx] - lost;
      const float t = sum + y;
      lost = fabsf(t) <= FLT_MAX ? (t - sum) - y : 0.0f;
      sum = t;
    }
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
  sgemm_kahan_tile<<<tiles_m * tiles_n, block>>>(m, n, k, alpha, A, lda, B, ldb, beta, C, ldc, tiles_n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(SgemmCompensated, launch);
