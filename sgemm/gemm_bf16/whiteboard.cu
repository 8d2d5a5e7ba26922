#include <cuda_bf16.h>
#include <mma.h>

// Say: a tensor core multiplies 16 x 16 by 16 x 16 for a whole warp. A fragment is such a matrix spread over the warp's
// registers, and which lane holds which element is not specified. So tiles pass through shared memory, which also adds
// zeros past the edges, and so do the sums. Inputs are BF16, sums FP32, and C is rounded once. All 32 lanes must call
// each function (step 01). Next come fragments that you load yourself (02), copies in flight (03), and wgmma, which
// reads its operands from shared memory (04).
namespace wmma = nvcuda::wmma;
using bf16 = __nv_bfloat16;

__global__ void gemm(size_t m, size_t n, size_t k, float alpha, const bf16* __restrict__ A, size_t lda,
                     const bf16* __restrict__ B, size_t ldb, float beta, bf16* __restrict__ C, size_t ldc) {
  __shared__ __align__(32) bf16 As[16][16], Bs[16][16];
  __shared__ __align__(32) float Cs[16][16];
  const size_t row0 = size_t{blockIdx.y} * 16, col0 = size_t{blockIdx.x} * 16, c = threadIdx.x % 16;
  wmma::fragment<wmma::matrix_a, 16, 16, 16, bf16, wmma::row_major> a;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, bf16, wmma::row_major> b;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
  wmma::fill_fragment(sum, 0.0f);
  for (size_t k0 = 0; k0 < k; k0 += 16) {
    for (size_t r = threadIdx.x / 16; r < 16; r += 2) {
      As[r][c] = row0 + r < m && k0 + c < k ? A[(row0 + r) * lda + k0 + c] : bf16(0.0f);
      Bs[r][c] = k0 + r < k && col0 + c < n ? B[(k0 + r) * ldb + col0 + c] : bf16(0.0f);
    }
    __syncwarp();  // the tiles are complete
    wmma::load_matrix_sync(a, &As[0][0], 16);
    wmma::load_matrix_sync(b, &Bs[0][0], 16);
    wmma::mma_sync(sum, a, b, sum);
    __syncwarp();  // all lanes have read them
  }
  wmma::store_matrix_sync(&Cs[0][0], sum, 16, wmma::mem_row_major);
  __syncwarp();
  for (size_t r = threadIdx.x / 16; r < 16; r += 2) {
    if (row0 + r >= m || col0 + c >= n) continue;
    bf16& to = C[(row0 + r) * ldc + col0 + c];
    to = bf16(alpha * Cs[r][c] + (beta == 0.0f ? 0.0f : beta * float(to)));
  }
}

cudaError_t launch(size_t m, size_t n, size_t k, float alpha, const bf16* A, size_t lda, const bf16* B, size_t ldb,
                   float beta, bf16* C, size_t ldc) {
  if (m == 0 || n == 0) return cudaSuccess;  // a grid of 0 blocks is an error
  gemm<<<dim3((n + 15) / 16, (m + 15) / 16), 32>>>(m, n, alpha == 0.0f ? 0 : k, alpha, A, lda, B, ldb, beta, C, ldc);
  return cudaGetLastError();
}

// The answer ends here; the rest is for the checks. gridDim.y, at most 65535, counts tiles of rows.
// needs: sm_80
#include "gemm_bf16.cuh"
#include "whiteboard.cuh"
LADDER_STEP(GemmBf16, checked<launch>, "m", 16);
