// bug: float4 wherever four elements are inside, even if rows of A are not 16-byte aligned
// caught by: cpu forward | misaligned address
// caught by: cpu-asan forward | misaligned address
// caught by: gpu | misaligned address
// stage: memory
#include "../sgemm.cuh"

constexpr unsigned kTile = 32;

__global__ void sgemm_unaligned(std::size_t M, std::size_t N, std::size_t K, float alpha, const float* __restrict__ A,
                                std::size_t lda, const float* __restrict__ B, std::size_t ldb, float beta,
                                float* __restrict__ C, std::size_t ldc, unsigned tiles_n) {
  __shared__ float As[kTile][kTile], Bs[kTile][kTile];
  const unsigned tx = threadIdx.x, ty = threadIdx.y;
  const std::size_t row = std::size_t{blockIdx.x / tiles_n} * kTile + ty;
  const std::size_t col = std::size_t{blockIdx.x % tiles_n} * kTile + tx;
  float acc = 0.0f;
  for (std::size_t k0 = 0; k0 < K; k0 += kTile) {
    if (tx % 4 == 0) {
      float4 v = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
      if (row < M && k0 + tx + 4 <= K) {
        v = *reinterpret_cast<const float4*>(&A[row * lda + k0 + tx]);  // only if A and lda allow it
      } else if (row < M) {
        for (unsigned x = 0; x < 4; ++x) (&v.x)[x] = k0 + tx + x < K ? A[row * lda + k0 + tx + x] : 0.0f;
      }
      As[ty][tx] = v.x, As[ty][tx + 1] = v.y, As[ty][tx + 2] = v.z, As[ty][tx + 3] = v.w;
    }
    Bs[ty][tx] = k0 + ty < K && col < N ? B[(k0 + ty) * ldb + col] : 0.0f;
    __syncthreads();
#pragma unroll
    for (unsigned k = 0; k < kTile; ++k) acc += As[ty][k] * Bs[k][tx];
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
  sgemm_unaligned<<<tiles_m * tiles_n, block>>>(M, N, K, alpha, A, lda, B, ldb, beta, C, ldc, tiles_n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Sgemm, launch);
