// The part of cuBLAS that exercises use as a reference, as plain loops on the CPU. Matrices are column-major; products
// and sums are in double, rounded once. Scalars are in host memory.
#pragma once

#include "cuda_bf16.h"
#include "cuda_fp16.h"
#include "cuda_runtime.h"

enum cublasStatus_t {
  CUBLAS_STATUS_SUCCESS = 0,
  CUBLAS_STATUS_NOT_INITIALIZED = 1,
  CUBLAS_STATUS_ALLOC_FAILED = 3,
  CUBLAS_STATUS_INVALID_VALUE = 7,
  CUBLAS_STATUS_ARCH_MISMATCH = 8,
  CUBLAS_STATUS_MAPPING_ERROR = 11,
  CUBLAS_STATUS_EXECUTION_FAILED = 13,
  CUBLAS_STATUS_INTERNAL_ERROR = 14,
  CUBLAS_STATUS_NOT_SUPPORTED = 15,
  CUBLAS_STATUS_LICENSE_ERROR = 16,
};
enum cublasOperation_t { CUBLAS_OP_N = 0, CUBLAS_OP_T = 1, CUBLAS_OP_C = 2 };
enum cublasMath_t {
  CUBLAS_DEFAULT_MATH = 0,
  CUBLAS_TENSOR_OP_MATH = 1,
  CUBLAS_PEDANTIC_MATH = 2,
  CUBLAS_TF32_TENSOR_OP_MATH = 3,
};
enum cublasComputeType_t {
  CUBLAS_COMPUTE_16F = 64,
  CUBLAS_COMPUTE_32F = 68,
  CUBLAS_COMPUTE_32F_PEDANTIC = 69,
  CUBLAS_COMPUTE_32F_FAST_16F = 74,
  CUBLAS_COMPUTE_32F_FAST_16BF = 75,
  CUBLAS_COMPUTE_32F_FAST_TF32 = 77,
};
enum cublasGemmAlgo_t { CUBLAS_GEMM_DEFAULT = -1, CUBLAS_GEMM_DEFAULT_TENSOR_OP = 99 };
enum cublasPointerMode_t { CUBLAS_POINTER_MODE_HOST = 0, CUBLAS_POINTER_MODE_DEVICE = 1 };

struct cublasContext {};
typedef cublasContext* cublasHandle_t;

inline cublasStatus_t cublasCreate(cublasHandle_t* handle) {
  *handle = new cublasContext;
  return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasDestroy(cublasHandle_t handle) {
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasSetStream(cublasHandle_t, cudaStream_t) { return CUBLAS_STATUS_SUCCESS; }
inline cublasStatus_t cublasSetMathMode(cublasHandle_t, cublasMath_t) { return CUBLAS_STATUS_SUCCESS; }
inline cublasStatus_t cublasSetPointerMode(cublasHandle_t, cublasPointerMode_t mode) {
  return mode == CUBLAS_POINTER_MODE_HOST ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}
inline const char* cublasGetStatusString(cublasStatus_t status) {
  return status == CUBLAS_STATUS_SUCCESS ? "success" : "the CPU backend's cuBLAS refused the call";
}

namespace cuda_emu {

// Runs `body` as a kernel of one thread, because only kernels can access device memory.
template <class Body>
inline cublasStatus_t as_kernel(const char* name, const Body& body) {
  launch(name, body, config(1, 1));
  return cudaPeekAtLastError() == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

template <class A, class B, class C, class Scalar>
inline void gemm(bool transpose_a, bool transpose_b, int m, int n, int k, Scalar alpha, const A* a, int lda, const B* b,
                 int ldb, Scalar beta, C* c, int ldc) {
  for (int column = 0; column < n; ++column) {
    for (int row = 0; row < m; ++row) {
      double sum = 0;
      for (int i = 0; i < k; ++i) {
        const auto x = transpose_a ? a[i + std::size_t(lda) * row] : a[row + std::size_t(lda) * i];
        const auto y = transpose_b ? b[column + std::size_t(ldb) * i] : b[i + std::size_t(ldb) * column];
        sum += static_cast<double>(x) * static_cast<double>(y);
      }
      C& out = c[row + std::size_t(ldc) * column];
      sum *= static_cast<double>(alpha);
      if (beta != Scalar(0.0f)) sum += static_cast<double>(beta) * static_cast<double>(out);
      out = static_cast<C>(sum);
    }
  }
}

inline double element(const void* memory, cudaDataType type, std::size_t i) {
  switch (type) {
    case CUDA_R_64F:
      return static_cast<const double*>(memory)[i];
    case CUDA_R_16F:
      return static_cast<double>(static_cast<const __half*>(memory)[i]);
    case CUDA_R_16BF:
      return static_cast<double>(static_cast<const __nv_bfloat16*>(memory)[i]);
    default:
      return static_cast<const float*>(memory)[i];
  }
}

// An element whose type is known at run time.
struct Element {
  void* memory;
  cudaDataType type;
  std::size_t index;
  operator double() const { return element(memory, type, index); }
  Element& operator=(double value) {
    if (type == CUDA_R_64F) static_cast<double*>(memory)[index] = value;
    if (type == CUDA_R_32F) static_cast<float*>(memory)[index] = static_cast<float>(value);
    if (type == CUDA_R_16F) static_cast<__half*>(memory)[index] = value;
    if (type == CUDA_R_16BF) static_cast<__nv_bfloat16*>(memory)[index] = value;
    return *this;
  }
};

constexpr bool is_real_type(cudaDataType type) {
  return type == CUDA_R_64F || type == CUDA_R_32F || type == CUDA_R_16F || type == CUDA_R_16BF;
}

}  // namespace cuda_emu

#define CUDA_EMU_CUBLAS(LETTER, T)                                                                                     \
  inline cublasStatus_t cublas##LETTER##gemm(cublasHandle_t, cublasOperation_t ta, cublasOperation_t tb, int m, int n, \
                                             int k, const T* alpha, const T* a, int lda, const T* b, int ldb,          \
                                             const T* beta, T* c, int ldc) {                                           \
    if (m < 0 || n < 0 || k < 0 || lda < 1 || ldb < 1 || ldc < (m > 1 ? m : 1)) return CUBLAS_STATUS_INVALID_VALUE;    \
    return cuda_emu::as_kernel("cublas" #LETTER "gemm", [=, x = *alpha, y = *beta] {                                   \
      cuda_emu::gemm(ta != CUBLAS_OP_N, tb != CUBLAS_OP_N, m, n, k, x, a, lda, b, ldb, y, c, ldc);                     \
    });                                                                                                                \
  }                                                                                                                    \
  inline cublasStatus_t cublas##LETTER##gemmStridedBatched(                                                            \
      cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k, const T* alpha,          \
      const T* a, int lda, long long a_stride, const T* b, int ldb, long long b_stride, const T* beta, T* c, int ldc,  \
      long long c_stride, int count) {                                                                                 \
    cublasStatus_t status = CUBLAS_STATUS_SUCCESS;                                                                     \
    for (int i = 0; i < count && status == CUBLAS_STATUS_SUCCESS; ++i) {                                               \
      status = cublas##LETTER##gemm(handle, ta, tb, m, n, k, alpha, a + i * a_stride, lda, b + i * b_stride, ldb,      \
                                    beta, c + i * c_stride, ldc);                                                      \
    }                                                                                                                  \
    return status;                                                                                                     \
  }                                                                                                                    \
  inline cublasStatus_t cublas##LETTER##gemv(cublasHandle_t, cublasOperation_t t, int m, int n, const T* alpha,        \
                                             const T* a, int lda, const T* x, int x_step, const T* beta, T* y,         \
                                             int y_step) {                                                             \
    if (m < 0 || n < 0 || lda < 1 || x_step < 1 || y_step < 1) return CUBLAS_STATUS_INVALID_VALUE;                     \
    return cuda_emu::as_kernel("cublas" #LETTER "gemv", [=, p = *alpha, q = *beta] {                                   \
      const bool transposed = t != CUBLAS_OP_N;                                                                        \
      for (int i = 0; i < (transposed ? n : m); ++i) {                                                                 \
        double sum = 0;                                                                                                \
        for (int j = 0; j < (transposed ? m : n); ++j) {                                                               \
          sum += static_cast<double>(a[transposed ? j + std::size_t(lda) * i : i + std::size_t(lda) * j]) *            \
                 x[std::size_t(x_step) * j];                                                                           \
        }                                                                                                              \
        T& out = y[std::size_t(y_step) * i];                                                                           \
        out = static_cast<T>(p * sum + (q == 0 ? 0.0 : static_cast<double>(q) * out));                                 \
      }                                                                                                                \
    });                                                                                                                \
  }                                                                                                                    \
  inline cublasStatus_t cublas##LETTER##dot(cublasHandle_t, int n, const T* x, int x_step, const T* y, int y_step,     \
                                            T* result) {                                                               \
    double sum = 0;                                                                                                    \
    const cublasStatus_t status = cuda_emu::as_kernel("cublas" #LETTER "dot", [=, &sum] {                              \
      for (int i = 0; i < n; ++i)                                                                                      \
        sum += static_cast<double>(x[i * std::ptrdiff_t(x_step)]) * y[i * std::ptrdiff_t(y_step)];                     \
    });                                                                                                                \
    *result = static_cast<T>(sum);                                                                                     \
    return status;                                                                                                     \
  }                                                                                                                    \
  inline cublasStatus_t cublas##LETTER##asum(cublasHandle_t, int n, const T* x, int x_step, T* result) {               \
    double sum = 0;                                                                                                    \
    const cublasStatus_t status = cuda_emu::as_kernel("cublas" #LETTER "asum", [=, &sum] {                             \
      for (int i = 0; i < n; ++i) sum += std::fabs(static_cast<double>(x[i * std::ptrdiff_t(x_step)]));                \
    });                                                                                                                \
    *result = static_cast<T>(sum);                                                                                     \
    return status;                                                                                                     \
  }                                                                                                                    \
  inline cublasStatus_t cublas##LETTER##axpy(cublasHandle_t, int n, const T* alpha, const T* x, int x_step, T* y,      \
                                             int y_step) {                                                             \
    return cuda_emu::as_kernel("cublas" #LETTER "axpy", [=, p = *alpha] {                                              \
      for (int i = 0; i < n; ++i) y[i * std::ptrdiff_t(y_step)] += p * x[i * std::ptrdiff_t(x_step)];                  \
    });                                                                                                                \
  }                                                                                                                    \
  inline cublasStatus_t cublas##LETTER##scal(cublasHandle_t, int n, const T* alpha, T* x, int x_step) {                \
    return cuda_emu::as_kernel("cublas" #LETTER "scal", [=, p = *alpha] {                                              \
      for (int i = 0; i < n; ++i) x[i * std::ptrdiff_t(x_step)] *= p;                                                  \
    });                                                                                                                \
  }
CUDA_EMU_CUBLAS(S, float)
CUDA_EMU_CUBLAS(D, double)
#undef CUDA_EMU_CUBLAS

// Supports float, double, __half and __nv_bfloat16. The scalars are double if C is, else float.
inline cublasStatus_t cublasGemmEx(cublasHandle_t, cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k,
                                   const void* alpha, const void* a, cudaDataType a_type, int lda, const void* b,
                                   cudaDataType b_type, int ldb, const void* beta, void* c, cudaDataType c_type,
                                   int ldc, cublasComputeType_t, cublasGemmAlgo_t) {
  using namespace cuda_emu;
  if (!is_real_type(a_type) || !is_real_type(b_type) || !is_real_type(c_type)) return CUBLAS_STATUS_NOT_SUPPORTED;
  const cudaDataType scalar = c_type == CUDA_R_64F ? CUDA_R_64F : CUDA_R_32F;
  const double p = element(alpha, scalar, 0), q = element(beta, scalar, 0);
  return as_kernel("cublasGemmEx", [=] {
    for (int column = 0; column < n; ++column) {
      for (int row = 0; row < m; ++row) {
        double sum = 0;
        for (int i = 0; i < k; ++i) {
          const std::size_t at_a = ta != CUBLAS_OP_N ? i + std::size_t(lda) * row : row + std::size_t(lda) * i;
          const std::size_t at_b = tb != CUBLAS_OP_N ? column + std::size_t(ldb) * i : i + std::size_t(ldb) * column;
          sum += element(a, a_type, at_a) * element(b, b_type, at_b);
        }
        Element out{c, c_type, row + std::size_t(ldc) * column};
        out = p * sum + (q == 0 ? 0.0 : q * out);
      }
    }
  });
}
