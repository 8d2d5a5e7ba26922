// Problem:  step 03 has two fifths of step 02's rate on large products, and step 02 leaves SMs idle where tiles are few.
// Idea:     a wgmma tile of 128 x 128 beside step 02's: a cluster's blocks have k in parts, and their sums meet in
//           distributed shared memory. gemm_shapes.hpp estimates which tile takes least, these or one of step 03's.
// Expect:   step 02's speed from 2048 on. At 1024, 64 tiles in two parts make 128 blocks for 132 SMs, where step 02
//           has 16 tiles for 66 pairs: 1.3x step 03 and more.
// Measured: 2.65x step 03, 1.00x cuBLAS at 4096 (H200); 2.62x, 0.99x (H100).
// Next:     rows of A that TMA refuses are copied. Which kernel could read them as they are, at wgmma's rate?
// needs: sm_90a
#include "wgmma_tf32_specialised.cuh"
#include "../by_shape_sm90.cuh"
#include "split_tile_tf32.cuh"

static void launch(std::size_t M, std::size_t N, std::size_t K, float alpha, const float* A, std::size_t lda,
                   const float* B, std::size_t ldb, float beta, float* C, std::size_t ldc) {
  if (M == 0 || N == 0) return;
  if (K == 0 || alpha == 0) return scale_matrix(M, N, beta, C, ldc);
  const GemmKernel kernel = gemm_kernel_sm90(M, N, K, A, lda, B, ldb, C, ldc);
  if (kernel == GemmKernel::wgmma) return launch_wgmma_tf32<true>(M, N, K, alpha, A, lda, B, ldb, beta, C, ldc);
  const Product<float> product = {M, N, K, alpha, A, lda, B, ldb, beta, C, ldc};
  kernel == GemmKernel::wgmma_split_k ? launch_split_k<SplitTileTf32>(product) : launch_without_wgmma(kernel, product);
}

using SgemmTf32BySize = BySize<SgemmTf32, float>;
LADDER_STEP(SgemmTf32BySize, launch);
