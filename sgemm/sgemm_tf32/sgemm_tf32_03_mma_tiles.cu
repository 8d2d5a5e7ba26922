// Problem:  a tile of step 02 has 256 x 256 elements and two SMs. C of one row wastes 255 of 256 products, 8 tiles leave
//           116 of 132 SMs idle, k of 5 ends before the pipeline is full, and rows that TMA refuses are copied first.
// Idea:     mma.sync on tiles that suit C (gemm_shapes.hpp), fed by cp.async of 16 bytes, even where rows begin
//           anywhere. Few tiles: k in slices, whose sums a second kernel adds. Short k, few sums: no tensor cores.
// Expect:   0.9 of cuBLAS and more where bytes are the work; some 0.5 of step 02 on large products.
// Measured: 0.38x step 02, 0.38x cuBLAS at 4096 (H200); 0.38x, 0.38x (H100).
// Why:      a warp reads fragments, waits for them, multiplies. Step 04 gives large products to wgmma.
// Next:     which products still want wgmma? (Those with enough work for a tile of 256 x 256: step 04.)
// needs: sm_80
#include "sgemm_tf32.cuh"
#include "../mma_by_shape.cuh"

static void launch(std::size_t M, std::size_t N, std::size_t K, float alpha, const float* A, std::size_t lda,
                   const float* B, std::size_t ldb, float beta, float* C, std::size_t ldc) {
  if (M == 0 || N == 0) return;
  if (K == 0 || alpha == 0) return scale_matrix(M, N, beta, C, ldc);
  launch_without_wgmma(gemm_kernel(M, N, K, sm_count()), Product<float>{M, N, K, alpha, A, lda, B, ldb, beta, C, ldc});
}

LADDER_STEP(SgemmTf32, launch);
