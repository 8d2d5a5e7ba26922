// Problem:  a tile of step 05 has 256 x 256 elements and two SMs. C of one row wastes 255 of 256 products, 8 tiles leave
//           116 of 132 SMs idle, k of 5 ends before the pipeline is full, and rows that TMA refuses are copied first.
// Idea:     step 03's mma.sync on tiles that suit C (gemm_shapes.hpp), fed by cp.async of 16 bytes, even where rows
//           begin anywhere. Few tiles: k in slices, whose sums a second kernel adds. Short k, few sums: no tensor cores.
// Expect:   0.9 of cuBLAS and more where bytes are the work; some 0.5 of step 05 on large products.
// Measured: 0.41x step 05, 0.41x cuBLAS at 4096 (H200); 0.42x, 0.42x (H100).
// Why:      a warp reads fragments, waits for them, multiplies; step 03, with 0.58 of cuBLAS, reads ahead, but here the
//           registers are spent. Step 07 gives large products to wgmma.
// Next:     which products still want wgmma? (Those with enough work for a tile of 256 x 256: step 07.)
// needs: sm_80
#include "gemm_bf16.cuh"
#include "../mma_by_shape.cuh"

static void launch(std::size_t M, std::size_t N, std::size_t K, float alpha, const __nv_bfloat16* A, std::size_t lda,
                   const __nv_bfloat16* B, std::size_t ldb, float beta, __nv_bfloat16* C, std::size_t ldc) {
  if (M == 0 || N == 0) return;
  if (K == 0 || alpha == 0) return scale_matrix(M, N, beta, C, ldc);
  launch_without_wgmma(gemm_kernel(M, N, K, sm_count()),
                       Product<__nv_bfloat16>{M, N, K, alpha, A, lda, B, ldb, beta, C, ldc});
}

LADDER_STEP(GemmBf16, launch);
