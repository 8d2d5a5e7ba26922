#pragma once

#include "cuda_runtime.h"

typedef struct cusparseContext* cusparseHandle_t;
typedef const struct cusparseSpMatDescr* cusparseConstSpMatDescr_t;
typedef const struct cusparseDnVecDescr* cusparseConstDnVecDescr_t;
typedef struct cusparseDnVecDescr* cusparseDnVecDescr_t;
enum cusparseStatus_t { CUSPARSE_STATUS_SUCCESS };
enum cusparseIndexType_t { CUSPARSE_INDEX_32I };
enum cusparseIndexBase_t { CUSPARSE_INDEX_BASE_ZERO };
enum cusparseOperation_t { CUSPARSE_OPERATION_NON_TRANSPOSE };
enum cusparseSpMVAlg_t { CUSPARSE_SPMV_ALG_DEFAULT };

const char* cusparseGetErrorString(cusparseStatus_t status);
cusparseStatus_t cusparseCreate(cusparseHandle_t* handle);
cusparseStatus_t cusparseCreateConstCsr(cusparseConstSpMatDescr_t* matrix, ...);
cusparseStatus_t cusparseCreateConstDnVec(cusparseConstDnVecDescr_t* vector, ...);
cusparseStatus_t cusparseCreateDnVec(cusparseDnVecDescr_t* vector, ...);
cusparseStatus_t cusparseDestroySpMat(cusparseConstSpMatDescr_t matrix);
cusparseStatus_t cusparseDestroyDnVec(cusparseConstDnVecDescr_t vector);
cusparseStatus_t cusparseSpMV_bufferSize(cusparseHandle_t, cusparseOperation_t, const void* alpha, ...);
cusparseStatus_t cusparseSpMV(cusparseHandle_t, cusparseOperation_t, const void* alpha, ...);
