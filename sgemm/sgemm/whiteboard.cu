#include <cuda_runtime.h>

// Say: a block computes a 32 x 32 tile of C, and each element that it loads is used 32 times. Zeros fill the tiles past
// the edges, so the inner loop has no condition. Threads without an element of C still load and reach both barriers.
// The second barrier keeps the next tile from overwriting what a slower warp still reads. Each multiply-add takes two
// words from shared memory, and that is the limit (step 04). Next come several elements of C per thread (steps 05 and
// 06). gridDim.y is at most 65535, so C has at most 2,097,120 rows.
constexpr int kTile = 32;

__global__ void sgemm(size_t m, size_t n, size_t k, float alpha, const float* __restrict__ A, size_t lda,
                      const float* __restrict__ B, size_t ldb, float beta, float* __restrict__ C, size_t ldc) {
  __shared__ float As[kTile][kTile], Bs[kTile][kTile];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const size_t row = size_t{blockIdx.y} * kTile + ty, col = size_t{blockIdx.x} * kTile + tx;
  float acc = 0.0f;
  for (size_t k0 = 0; k0 < k; k0 += kTile) {
    As[ty][tx] = row < m && k0 + tx < k ? A[row * lda + k0 + tx] : 0.0f;
    Bs[ty][tx] = k0 + ty < k && col < n ? B[(k0 + ty) * ldb + col] : 0.0f;
    __syncthreads();  // the tiles are complete
    for (int l = 0; l < kTile; ++l) acc += As[ty][l] * Bs[l][tx];
    __syncthreads();  // all threads have read them
  }
  if (row < m && col < n) C[row * ldc + col] = alpha * acc + (beta == 0.0f ? 0.0f : beta * C[row * ldc + col]);
}

cudaError_t launch(size_t m, size_t n, size_t k, float alpha, const float* A, size_t lda, const float* B, size_t ldb,
                   float beta, float* C, size_t ldc) {
  if (m == 0 || n == 0) return cudaSuccess;  // a grid of 0 blocks is an error
  const dim3 block(kTile, kTile), grid((n + kTile - 1) / kTile, (m + kTile - 1) / kTile);
  sgemm<<<grid, block>>>(m, n, alpha == 0.0f ? 0 : k, alpha, A, lda, B, ldb, beta, C, ldc);
  return cudaGetLastError();
}

// The answer ends here; the rest is for the checks. gridDim.y, at most 65535, counts tiles of rows.
#include "sgemm.cuh"
#include "whiteboard.cuh"
LADDER_STEP(Sgemm, checked<launch>, "m", kTile);
