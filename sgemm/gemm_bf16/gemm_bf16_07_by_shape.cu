// Problem:  step 06 has two fifths of step 05's rate on large products, and step 05 leaves SMs idle where tiles are few.
// Idea:     a wgmma tile of 128 x 128 beside step 05's: a cluster's blocks have k in parts, and their sums meet in
//           distributed shared memory. gemm_shapes.hpp estimates which tile takes least, these or one of step 06's.
// Expect:   step 05's speed from 2048 on. At 1024, 64 tiles in two parts make 128 blocks for 132 SMs, where step 05
//           has 16 tiles for 66 pairs: 1.3x step 06 and more.
// Measured: 2.45x step 06, 1.00x cuBLAS at 4096 (H200); 2.37x, 1.00x (H100).
// Next:     rows of A that TMA refuses are copied. Which kernel could read them as they are, at wgmma's rate?
// needs: sm_90a
#include "wgmma_specialised.cuh"
#include "../by_shape_sm90.cuh"
#include "split_tile_bf16.cuh"

static void launch(std::size_t M, std::size_t N, std::size_t K, float alpha, const __nv_bfloat16* A, std::size_t lda,
                   const __nv_bfloat16* B, std::size_t ldb, float beta, __nv_bfloat16* C, std::size_t ldc) {
  if (M == 0 || N == 0) return;
  if (K == 0 || alpha == 0) return scale_matrix(M, N, beta, C, ldc);
  const GemmKernel kernel = gemm_kernel_sm90(M, N, K, A, lda, B, ldb, C, ldc);
  if (kernel == GemmKernel::wgmma) return launch_specialised<true>(M, N, K, alpha, A, lda, B, ldb, beta, C, ldc);
  const Product<__nv_bfloat16> product = {M, N, K, alpha, A, lda, B, ldb, beta, C, ldc};
  kernel == GemmKernel::wgmma_split_k ? launch_split_k<SplitTileBf16>(product) : launch_without_wgmma(kernel, product);
}

using GemmBf16BySize = BySize<GemmBf16, __nv_bfloat16, true>;
LADDER_STEP(GemmBf16BySize, launch);
