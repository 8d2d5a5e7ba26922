// The library: cublasLtMatmul as in linear 00, on a strided batch. The layouts hold the number of layers and their
// stride, the operation the stride of the biases.
// needs: gpu
// links: cublas
// links: cublasLt
#include "linear_batched.cuh"
#include "../lt_product.cuh"
#include "without_product.cuh"

static void launch(const __nv_bfloat16* A, const __nv_bfloat16* W, const __nv_bfloat16* bias, __nv_bfloat16* C,
                   std::size_t b, std::size_t m, std::size_t n, std::size_t k) {
  if (b == 0 || m == 0 || n == 0) return;
  if (k == 0) {  // cuBLAS refuses a leading dimension of 0
    for (std::size_t i = 0; i < b; ++i) without_product<false>(bias + i * n, C + i * m * n, m, n);
    return;
  }
  const LtTypes types = {CUDA_R_16BF, CUDA_R_16BF, CUBLAS_COMPUTE_32F, CUDA_R_32F};
  std::size_t padded = n;
  bias = rows_for_tma<struct AlignedBias>(bias, b, n, padded);  // 16-byte aligned, like the rows of A and W
  constexpr std::size_t most = 65535;                           // the limit of gridDim.y and .z; the manual names none
  for (std::size_t i = 0; i < b; i += most) {
    const __nv_bfloat16* biases = bias + i * padded;
    const auto describe = [&](cublasLtMatmulDesc_t layer) {
      const cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_GELU_BIAS;
      const auto apart = static_cast<std::int64_t>(padded);
      CUBLAS_CHECK(cublasLtMatmulDescSetAttribute(layer, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue));
      CUBLAS_CHECK(cublasLtMatmulDescSetAttribute(layer, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &biases, sizeof biases));
      CUBLAS_CHECK(cublasLtMatmulDescSetAttribute(layer, CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE, &apart, sizeof apart));
    };
    multiply_by_cublaslt(types, A + i * m * k, W + i * n * k, C + i * m * n, m, n, k, 1.0f, 0.0f, describe,
                         std::min(most, b - i));
  }
}

using LinearBatchedByLibrary = ByLibrary<LinearBatched>;
LADDER_STEP(LinearBatchedByLibrary, launch);
