// Products by cuBLASLt: D = alpha A B^T + beta D, A m x k, B n x k, D m x n, row-major.
#pragma once
#include "cublas_helpers.cuh"
#include "tensor_map.cuh"

#include <cublasLt.h>

#include <map>
#include <vector>

// The types of a product: of A and B, of D, of the computation, and of alpha and beta.
struct LtTypes {
  cudaDataType_t in, out;
  cublasComputeType_t compute;
  cudaDataType_t factor;
};

// The operation and the matrices of a product, and the library's kernel for it, if it has one.
struct LtPlan {
  cublasLtMatmulDesc_t operation = nullptr;
  cublasLtMatrixLayout_t A = nullptr, B = nullptr, D = nullptr;
  cublasLtMatmulAlgo_t algorithm = {};
  bool has_kernel = false;
};
constexpr std::uint64_t kLtWorkspace = 32 << 20;
inline cublasLtHandle_t cublas_lt() { return reinterpret_cast<cublasLtHandle_t>(cublas()); }  // also a cuBLASLt handle

// Returns the plan for a size and the alignments of A, B and D in bytes; the library is asked once for each. It sees
// row-major matrices as column-major ones, D^T = B A^T, so B goes first, transposed. Its 8-bit kernels exist only in
// this form (TN). Slices of k must be added in the compute type. `describe` sets attributes of the operation. The
// matrices of `batch` products are contiguous. k must not be 0.
template <typename Describe>
LtPlan& lt_plan(const LtTypes& types, std::size_t m, std::size_t n, std::size_t k, const std::uint32_t (&alignments)[3],
                const Describe& describe, std::size_t batch = 1) {
  static std::map<std::vector<std::size_t>, LtPlan> plans;
  const auto [at, is_new] = plans.try_emplace({m, n, k, batch, alignments[0], alignments[1], alignments[2]});
  LtPlan& plan = at->second;
  if (!is_new) return plan;
  const cublasOperation_t transposed = CUBLAS_OP_T;
  // column-major, as the library sees it
  const auto layout = [&](cudaDataType_t type, std::size_t rows, std::size_t columns) {
    const auto count = static_cast<std::int32_t>(batch);
    const auto apart = static_cast<std::int64_t>(rows * columns);
    cublasLtMatrixLayout_t made = nullptr;
    CUBLAS_CHECK(cublasLtMatrixLayoutCreate(&made, type, rows, columns, static_cast<std::int64_t>(rows)));
    CUBLAS_CHECK(cublasLtMatrixLayoutSetAttribute(made, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count));
    CUBLAS_CHECK(
        cublasLtMatrixLayoutSetAttribute(made, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &apart, sizeof apart));
    return made;
  };
  CUBLAS_CHECK(cublasLtMatmulDescCreate(&plan.operation, types.compute, types.factor));
  CUBLAS_CHECK(
      cublasLtMatmulDescSetAttribute(plan.operation, CUBLASLT_MATMUL_DESC_TRANSA, &transposed, sizeof transposed));
  plan.A = layout(types.in, k, m);
  plan.B = layout(types.in, k, n);
  plan.D = layout(types.out, n, m);
  describe(plan.operation);
  cublasLtMatmulPreference_t preference = nullptr;
  CUBLAS_CHECK(cublasLtMatmulPreferenceCreate(&preference));
  const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute, auto value) {
    CUBLAS_CHECK(cublasLtMatmulPreferenceSetAttribute(preference, attribute, &value, sizeof value));
  };
  prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kLtWorkspace);
  prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, std::uint32_t{CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE});
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignments[1]);  // its A is our B
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignments[0]);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignments[2]);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignments[2]);
  cublasLtMatmulHeuristicResult_t best = {};
  int found = 0;
  const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(cublas_lt(), plan.operation, plan.B, plan.A, plan.D,
                                                               plan.D, preference, 1, &best, &found);
  if (status != CUBLAS_STATUS_NOT_SUPPORTED) CUBLAS_CHECK(status);
  CUBLAS_CHECK(cublasLtMatmulPreferenceDestroy(preference));
  plan.has_kernel = found > 0;
  plan.algorithm = best.algo;
  return plan;
}

// Rows of A and B that are not 16-byte aligned are first copied to rows that are, with zeros at their ends. `describe`
// is called each time. k must not be 0.
template <typename Element, typename Factor, typename Describe>
void multiply_by_cublaslt(const LtTypes& types, const Element* A, const Element* B, void* D, std::size_t m,
                          std::size_t n, std::size_t k, Factor alpha, Factor beta, const Describe& describe,
                          std::size_t batch = 1) {
  std::size_t padded_a = k, padded_b = k;  // rounded up where rows are copied: always whole 16-byte chunks
  A = rows_for_tma<struct AlignedA>(A, batch * m, k, padded_a);
  B = rows_for_tma<struct AlignedB>(B, batch * n, k, padded_b);
  const auto alignment = [](const void* p) {  // the largest power of two, up to 256, that divides the address
    const std::uintptr_t bits = reinterpret_cast<std::uintptr_t>(p) | 256;
    return static_cast<std::uint32_t>(bits & (~bits + 1));
  };
  LtPlan& plan = lt_plan(types, m, n, padded_a, {alignment(A), alignment(B), alignment(D)}, describe, batch);
  if (!plan.has_kernel) throw std::runtime_error("cublasLtMatmulAlgoGetHeuristic: no kernel for this product");
  describe(plan.operation);
  CUBLAS_CHECK(cublasLtMatmul(cublas_lt(), plan.operation, &alpha, B, plan.B, A, plan.A, &beta, D, plan.D, D, plan.D,
                              &plan.algorithm, scratch<unsigned char, struct Workspace>(kLtWorkspace), kLtWorkspace,
                              nullptr));
}
