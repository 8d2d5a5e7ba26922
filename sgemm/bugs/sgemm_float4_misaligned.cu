// bug: float4 wherever four elements are inside: nobody asks whether the rows of A start at multiples of 16 bytes
// caught by: cpu forward | misaligned address
// caught by: cpu-asan forward | misaligned address
// caught by: gpu | misaligned address
#include "../sgemm.cuh"

constexpr unsigned kTile = 32;

__global__ void sgemm_unaligned(std::size_t m, std::size_t n, std::size_t k, float alpha, const float* __restrict__ A,
                                std::size_t lda, const float* __restrict__ B, std::size_t ldb, float beta,
                                float* __restrict__ C, std::size_t ldc, unsigned tiles_n) {
  __shared__ float a[kTile][kTile], b[kTile][kTile];
  const unsigned tx = threadIdx.x, ty = threadIdx.y;
  const std::size_t row = std::size_t{blockIdx.x / tiles_n} * kTile + ty;
  const std::size_t column = std::size_t{blockIdx.x % tiles_n} * kTile + tx;
  float sum = 0.0f;
  for (std::size_t l0 = 0; l0 < k; l0 += kTile) {
    if (tx % 4 == 0) {
      float4 v = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
      if (row < m && l0 + tx + 4 <= k) {
        v = *reinterpret_cast<const float4*>(&A[row * lda + l0 + tx]);  // only if A and lda allow it
      } else if (row < m) {
        for (unsigned x = 0; x < 4; ++x) (&v.x)[x] = l0 + tx + x < k ? A[row * lda + l0 + tx + x] : 0.0f;
      }
      a[ty][tx] = v.x, a[ty][tx + 1] = v.y, a[ty][tx + 2] = v.z, a[ty][tx + 3] = v.w;
    }
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
  sgemm_unaligned<<<tiles_m * tiles_n, block>>>(m, n, k, alpha, A, lda, B, ldb, beta, C, ldc, tiles_n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Sgemm, launch);
