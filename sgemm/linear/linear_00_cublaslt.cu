// The library: cublasLtMatmul on BF16 with FP32 sums and the epilogue GELU_BIAS. The manual does not say which GELU
// that is; PyTorch uses it for the tanh formula alone, and its 2 FFMA per element (ncu, H200) are too few for erf.
// needs: gpu
// links: cublas
// links: cublasLt
#include "linear.cuh"
#include "../lt_product.cuh"
#include "without_product.cuh"

static void launch(const __nv_bfloat16* A, const __nv_bfloat16* W, const __nv_bfloat16* bias, __nv_bfloat16* C,
                   std::size_t m, std::size_t n, std::size_t k) {
  if (m == 0 || n == 0) return;
  if (k == 0) return without_product<false>(bias, C, m, n);  // cuBLAS refuses a leading dimension of 0
  std::size_t padded = n;
  bias = rows_for_tma<struct AlignedBias>(bias, 1, n, padded);  // 16-byte aligned, like the rows of A and W
  const LtTypes types = {CUDA_R_16BF, CUDA_R_16BF, CUBLAS_COMPUTE_32F, CUDA_R_32F};
  multiply_by_cublaslt(types, A, W, C, m, n, k, 1.0f, 0.0f, [&](cublasLtMatmulDesc_t layer) {
    const cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_GELU_BIAS;
    CUBLAS_CHECK(cublasLtMatmulDescSetAttribute(layer, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue));
    CUBLAS_CHECK(cublasLtMatmulDescSetAttribute(layer, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof bias));
  });
}

using LinearByLibrary = ByLibrary<Linear>;
LADDER_STEP(LinearByLibrary, launch);
