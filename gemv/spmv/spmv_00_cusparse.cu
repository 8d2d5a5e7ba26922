// The library: cusparseSpMV. It needs descriptors of the matrix and the vectors, and a buffer whose size it returns.
// needs: gpu
// links: cusparse
#include "spmv.cuh"

#include <cusparse.h>

// Throws std::runtime_error, naming the call, unless it returns CUSPARSE_STATUS_SUCCESS.
#define CUSPARSE_CHECK(call)                                                                             \
  do {                                                                                                   \
    const cusparseStatus_t cusparse_check_status = (call);                                               \
    if (cusparse_check_status != CUSPARSE_STATUS_SUCCESS)                                                \
      throw std::runtime_error(std::string(#call ": ") + cusparseGetErrorString(cusparse_check_status)); \
  } while (0)

static cusparseHandle_t cusparse() {
  static const cusparseHandle_t handle = [] {
    cusparseHandle_t h = nullptr;
    CUSPARSE_CHECK(cusparseCreate(&h));
    return h;
  }();
  return handle;
}

static void launch(const int* offsets, const int* columns, const float* values, const float* x, float* y,
                   std::size_t rows, std::size_t cols, std::size_t nnz) {
  if (rows == 0) return;
  if (nnz == 0) {
    CUDA_CHECK(cudaMemsetAsync(y, 0, rows * sizeof(float)));
    return;
  }
  const auto m = static_cast<std::int64_t>(rows), k = static_cast<std::int64_t>(cols);
  cusparseConstSpMatDescr_t matrix = nullptr;
  cusparseConstDnVecDescr_t in = nullptr;
  cusparseDnVecDescr_t out = nullptr;
  CUSPARSE_CHECK(cusparseCreateConstCsr(&matrix, m, k, static_cast<std::int64_t>(nnz), offsets, columns, values,
                                        CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F));
  CUSPARSE_CHECK(cusparseCreateConstDnVec(&in, k, x, CUDA_R_32F));
  CUSPARSE_CHECK(cusparseCreateDnVec(&out, m, y, CUDA_R_32F));
  const float one = 1, zero = 0;
  std::size_t bytes = 0;
  CUSPARSE_CHECK(cusparseSpMV_bufferSize(cusparse(), CUSPARSE_OPERATION_NON_TRANSPOSE, &one, matrix, in, &zero, out,
                                         CUDA_R_32F, CUSPARSE_SPMV_ALG_DEFAULT, &bytes));
  CUSPARSE_CHECK(cusparseSpMV(cusparse(), CUSPARSE_OPERATION_NON_TRANSPOSE, &one, matrix, in, &zero, out, CUDA_R_32F,
                              CUSPARSE_SPMV_ALG_DEFAULT, scratch<unsigned char>(bytes)));
  CUSPARSE_CHECK(cusparseDestroySpMat(matrix));
  CUSPARSE_CHECK(cusparseDestroyDnVec(in));
  CUSPARSE_CHECK(cusparseDestroyDnVec(out));
}

// Leaves out matrices with more nonzeros than elements, which cuSPARSE refuses.
class OfCusparse : public Spmv {
 public:
  using Spmv::Spmv;
  std::vector<ladder::Buffer> buffers(const ladder::Size& size) const override {
    if (size[2] > size[1])
      throw ladder::UsageError("--mean: cuSPARSE takes at most one nonzero per place, mean <= cols");
    return Spmv::buffers(size);
  }
  std::vector<ladder::Size> test_sizes() const override { return accepted(Spmv::test_sizes()); }
};

LADDER_STEP(OfCusparse, launch);
