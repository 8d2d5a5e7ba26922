#pragma once

#include_next <cublas_v2.h>

extern const cublasMath_t CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION;

cublasStatus_t cublasSdot_64(cublasHandle_t, ...);
cublasStatus_t cublasSscal_64(cublasHandle_t, ...);
cublasStatus_t cublasSgemv_64(cublasHandle_t, ...);
cublasStatus_t cublasSgeam_64(cublasHandle_t, ...);
cublasStatus_t cublasSgemm_64(cublasHandle_t, ...);
cublasStatus_t cublasGemmEx_64(cublasHandle_t, ...);
