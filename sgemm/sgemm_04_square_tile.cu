// Step 03 shares A's elements among columns, but loads B's anew for each row. Idea: tiles of both. A block of 32 x 32
// threads has a tile of C; it walks along k, 32 at a time, loads a tile of A and one of B into shared memory, each
// thread one element of each, and then each element is used 32 times. Two barriers: the tiles must be complete before
// anyone reads, and read by all before anyone overwrites them. What lies outside a matrix is 0 in the tile, so that the
// loop needs no bounds; for the same reason nobody leaves early, even without an element of C.
// Expect: traffic to L2 falls to a 32nd. Speed less than twice step 02's, for each multiply-add still takes two loads,
// from shared memory, and shared memory is the limit now.
// Next question: how can one load from shared memory serve several multiply-adds? (Registers.)
#include "sgemm.cuh"

constexpr unsigned kTile = 32;

__global__ void sgemm_square_tile(std::size_t m, std::size_t n, std::size_t k, float alpha, const float* __restrict__ A,
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
  sgemm_square_tile<<<tiles_m * tiles_n, block>>>(m, n, k, alpha, A, lda, B, ldb, beta, C, ldc, tiles_n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Sgemm, launch);
