// Problem:  step 06 has two fifths of step 05's rate on large products, and step 05 leaves SMs idle where tiles are few.
// Idea:     step 05's kernel where its tiles, with k in slices where they are few, and the copies of operands would take
//           less time than step 06's tiles: gemm_shapes.hpp estimates both. Step 06's kernels for all others.
// Expect:   step 05's speed at the table's sizes. At 1024, 16 tiles for 66 pairs of SMs, slices cost what they gain.
// Measured: 2.48x step 06, 1.00x cuBLAS at 4096 (H200).
// Next:     rows of A that TMA refuses are copied. Which kernel could read them as they are, at wgmma's rate?
// needs: sm_90a
#include "wgmma_specialised.cuh"
#include "by_shape_sm90.cuh"

static void launch(std::size_t M, std::size_t N, std::size_t K, float alpha, const __nv_bfloat16* A, std::size_t lda,
                   const __nv_bfloat16* B, std::size_t ldb, float beta, __nv_bfloat16* C, std::size_t ldc) {
  if (M == 0 || N == 0) return;
  if (K == 0 || alpha == 0) return scale_matrix(M, N, beta, C, ldc);
  const GemmKernel kernel = gemm_kernel_sm90(M, N, K, A, lda, B, ldb, C, ldc);
  if (kernel == GemmKernel::wgmma) return launch_specialised<true>(M, N, K, alpha, A, lda, B, ldb, beta, C, ldc);
  launch_without_wgmma(kernel, Product<__nv_bfloat16>{M, N, K, alpha, A, lda, B, ldb, beta, C, ldc});
}

using GemmBf16BySize = BySize<GemmBf16, __nv_bfloat16, true>;
LADDER_STEP(GemmBf16BySize, launch);
