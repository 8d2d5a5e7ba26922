// bug: a slice is K / slices long, rounded down, so the rest of k is in no slice
// caught by: cpu forward | is wrong
// caught by: cpu-asan forward | is wrong
// caught by: gpu | is wrong
// stage: right
// needs: sm_80
#include "../sgemm_tf32.cuh"
#include "../../few_rows.cuh"
#include "../../scaled_matrix.cuh"

// Four rows of C at a time, in blocks of 256 columns.
static void launch(std::size_t M, std::size_t N, std::size_t K, float alpha, const float* A, std::size_t lda,
                   const float* B, std::size_t ldb, float beta, float* C, std::size_t ldc) {
  if (M == 0 || N == 0) return;
  if (K == 0 || alpha == 0) return scale_matrix(M, N, beta, C, ldc);
  const std::size_t slices = std::min<std::size_t>(K, 4), width = kFewRowsThreads / 4;
  const std::size_t slice = K / slices;  // ceil_div(K, slices) is needed here
  float* partials = scratch<float>(slices * 4 * N);
  for (std::size_t row = 0; row < M; row += 4) {
    const Product<float> rows{
        std::min<std::size_t>(M - row, 4), N, K, alpha, A + row * lda, lda, B, ldb, beta, C + row * ldc, ldc};
    const dim3 grid(static_cast<unsigned>(ceil_div(N, 4 * width)), static_cast<unsigned>(slices));
    const auto kernel = gemm_few_rows<float, 4, false>;
    kernel<<<grid, kFewRowsThreads>>>(static_cast<int>(rows.M), N, K, alpha, rows.A, lda, B, ldb, beta, rows.C, ldc,
                                      static_cast<int>(width), slice, partials);
    CUDA_CHECK(cudaGetLastError());
    if (slices == 1) continue;
    add_slices(rows, grid.y, partials);
  }
}

LADDER_STEP(SgemmTf32, launch);
