// Problem:  step 03 has two fifths of step 02's rate on large products, and step 02 leaves SMs idle where tiles are few.
// Idea:     step 02's kernel where its tiles, with k in slices where they are few, and the copies of operands would take
//           less time than step 03's tiles: gemm_shapes.hpp estimates both. Step 03's kernels for all others.
// Expect:   step 02's speed at the table's sizes. At 1024, 16 tiles for 66 pairs of SMs, slices cost what they gain.
// Measured: 2.69x step 03, 1.00x cuBLAS at 4096 (H200).
// Next:     rows of A that TMA refuses are copied. Which kernel could read them as they are, at wgmma's rate?
// needs: sm_90a
#include "wgmma_tf32_specialised.cuh"
#include "by_shape_sm90.cuh"

static void launch(std::size_t M, std::size_t N, std::size_t K, float alpha, const float* A, std::size_t lda,
                   const float* B, std::size_t ldb, float beta, float* C, std::size_t ldc) {
  if (M == 0 || N == 0) return;
  if (K == 0 || alpha == 0) return scale_matrix(M, N, beta, C, ldc);
  const GemmKernel kernel = gemm_kernel_sm90(M, N, K, A, lda, B, ldb, C, ldc);
  if (kernel == GemmKernel::wgmma) return launch_wgmma_tf32<true>(M, N, K, alpha, A, lda, B, ldb, beta, C, ldc);
  launch_without_wgmma(kernel, Product<float>{M, N, K, alpha, A, lda, B, ldb, beta, C, ldc});
}

using SgemmTf32BySize = BySize<SgemmTf32, float>;
LADDER_STEP(SgemmTf32BySize, launch);
