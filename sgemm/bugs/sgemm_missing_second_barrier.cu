// bug: no barrier between the use of the tiles and the loads of the next ones: fast threads overwrite what others read
// caught by: cpu forward | is wrong
// caught by: cpu reverse | is wrong
// caught by: cpu-asan forward | is wrong
// caught by: gpu racecheck | hazard | --m=32 --n=32 --k=64
#include "../sgemm.cuh"

constexpr unsigned kTile = 32;

__global__ void sgemm_one_barrier(std::size_t m, std::size_t n, std::size_t k, float alpha, const float* __restrict__ A,
                                  std::size_t lda, const float* __restrict__ B, std::size_t ldb, float beta,
                                  float* __restrict__ C, std::size_t ldc, unsigned tiles_n) {
  __shared__ float a[kTile][kTile], b[kTile][kTile];
  const unsigned tx = threadIdx.x, ty = threadIdx.y;
  const std::size_t row = std::size_t{blockIdx.x / tiles_n} * kTile + ty;
  const std::size_t column = std::size_t{blockIdx.x % tiles_n} * kTile + tx;
  float sum = 0.0f;
  for (std::size_t l0 = 0; l0 < k; l0 += kTile) {
    a[ty][tx] = row < m && l0 + tx < k ? A[row * lda + l0 + tx] : 0.0f;
    b[ty][tx] = l0 + ty < k && column < n ? B[(l0 + ty) * ldb + column] : 0.0f;
    __syncthreads();
#pragma unroll
    for (unsigned l = 0; l < kTile; ++l) sum += a[ty][l] * b[l][tx];
    // and __syncthreads() before the next round
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
  sgemm_one_barrier<<<tiles_m * tiles_n, block>>>(m, n, k, alpha, A, lda, B, ldb, beta, C, ldc, tiles_n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Sgemm, launch);
