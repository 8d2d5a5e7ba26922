// A layer by cuBLASLt: the product with an epilogue of the library's.
#pragma once
#include "cublas_helpers.cuh"

#include <cublasLt.h>
#include <cuda_bf16.h>

#include <memory>
#include <vector>

// What cublasLtMatmul needs to know of a layer: made once for a size and an alignment, because the search for an
// algorithm takes longer than many products.
class LtLayer {
 public:
  // By columns, as the library reads them, C is n x m: C^T = W A^T + bias, and rows of W and A are columns of W^T and A^T.
  // All four pointers are multiples of `alignment` bytes.
  LtLayer(std::size_t m, std::size_t n, std::size_t k, cublasLtEpilogue_t epilogue, std::uint32_t alignment) {
    CUBLAS_CHECK(cublasLtMatmulDescCreate(&product_, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    const cublasOperation_t transposed = CUBLAS_OP_T;
    set(CUBLASLT_MATMUL_DESC_TRANSA, transposed);
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue);
    set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, reinterpret_cast<const void*>(std::uintptr_t{alignment}));  // run() has it
    const auto i64 = [](std::size_t v) { return static_cast<std::int64_t>(v); };
    CUBLAS_CHECK(cublasLtMatrixLayoutCreate(&w_, CUDA_R_16BF, k, n, i64(k)));
    CUBLAS_CHECK(cublasLtMatrixLayoutCreate(&a_, CUDA_R_16BF, k, m, i64(k)));
    CUBLAS_CHECK(cublasLtMatrixLayoutCreate(&c_, CUDA_R_16BF, n, m, i64(n)));

    cublasLtMatmulPreference_t wish;
    CUBLAS_CHECK(cublasLtMatmulPreferenceCreate(&wish));
    const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
      CUBLAS_CHECK(cublasLtMatmulPreferenceSetAttribute(wish, attribute, &value, sizeof(value)));
    };
    prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kWorkspace);
    const auto sums = static_cast<std::uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE);  // slices of k meet in FP32
    prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, sums);
    for (const auto of : {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
                          CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES}) {
      prefer(of, alignment);
    }
    cublasLtMatmulHeuristicResult_t found;
    int count = 0;
    CUBLAS_CHECK(cublasLtMatmulAlgoGetHeuristic(handle(), product_, w_, a_, c_, c_, wish, 1, &found, &count));
    CUBLAS_CHECK(cublasLtMatmulPreferenceDestroy(wish));
    if (count == 0) throw std::runtime_error("cublasLtMatmulAlgoGetHeuristic: found no algorithm");
    algorithm_ = found.algo;
  }
  LtLayer(const LtLayer&) = delete;
  LtLayer& operator=(const LtLayer&) = delete;
  ~LtLayer() {
    cublasLtMatrixLayoutDestroy(c_);
    cublasLtMatrixLayoutDestroy(a_);
    cublasLtMatrixLayoutDestroy(w_);
    cublasLtMatmulDescDestroy(product_);
  }

  // C = epilogue(A W^T + beta C + bias)
  void run(const __nv_bfloat16* A, const __nv_bfloat16* W, const __nv_bfloat16* bias, float beta, __nv_bfloat16* C) {
    const float alpha = 1;
    set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, static_cast<const void*>(bias));
    CUBLAS_CHECK(cublasLtMatmul(handle(), product_, &alpha, W, w_, A, a_, &beta, C, c_, C, c_, &algorithm_,
                                scratch<char, struct LtWorkspace>(kWorkspace), kWorkspace, nullptr));
  }

 private:
  static constexpr std::size_t kWorkspace = std::size_t{32} << 20;  // as cuBLAS's own default on Hopper
  static cublasLtHandle_t handle() { return reinterpret_cast<cublasLtHandle_t>(cublas()); }  // as its manual allows
  template <typename T>
  void set(cublasLtMatmulDescAttributes_t attribute, const T& value) {
    CUBLAS_CHECK(cublasLtMatmulDescSetAttribute(product_, attribute, &value, sizeof(value)));
  }

  cublasLtMatmulDesc_t product_;
  cublasLtMatrixLayout_t w_, a_, c_;
  cublasLtMatmulAlgo_t algorithm_;
};

// C = epilogue(A W^T + beta C + bias), the same epilogue in each call; none of m, n and k is 0.
inline void lt_layer(const __nv_bfloat16* A, const __nv_bfloat16* W, const __nv_bfloat16* bias, float beta,
                     __nv_bfloat16* C, std::size_t m, std::size_t n, std::size_t k, cublasLtEpilogue_t epilogue) {
  std::uint32_t alignment = 256;
  const auto fits = [&](const __nv_bfloat16* p) { return reinterpret_cast<std::uintptr_t>(p) % alignment == 0; };
  while (!fits(A) || !fits(W) || !fits(bias) || !fits(C)) alignment /= 2;
  static std::unique_ptr<LtLayer> layer;
  static std::vector<std::size_t> made_for;
  if (const std::vector<std::size_t> wanted = {m, n, k, alignment}; !layer || made_for != wanted) {
    layer = std::make_unique<LtLayer>(m, n, k, epilogue, alignment);
    made_for = wanted;
  }
  layer->run(A, W, bias, beta, C);
}
