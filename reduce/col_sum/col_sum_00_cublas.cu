// The library: cublasSgemv with a vector of ones, a common fallback in frameworks. The ones are written once, not in
// each launch. BLAS is column-major, so it sees row-major x as x^T with leading dimension cols: OP_N.
// needs: gpu
// links: cublas
#include "col_sum.cuh"
#include "cublas_helpers.cuh"

__global__ void col_sum_fill_ones(float* ones, std::size_t n) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) ones[i] = 1.0f;
}

static const float* ones(std::size_t n) {
  static DeviceBuffer<float> buffer;
  if (buffer.count() < n) {
    buffer.reserve(n);
    col_sum_fill_ones<<<static_cast<unsigned>(ceil_div(n, 256)), 256>>>(buffer.get(), n);
    CUDA_CHECK(cudaGetLastError());
  }
  return buffer.get();
}

static void launch(const float* x, float* out, std::size_t rows, std::size_t cols) {
  if (cols == 0) return;
  if (rows == 0) {  // with nothing to multiply, BLAS does not write out
    CUDA_CHECK(cudaMemsetAsync(out, 0, cols * sizeof(float)));
    return;
  }
  const float one = 1, zero = 0;
  const auto m = static_cast<std::int64_t>(cols), n = static_cast<std::int64_t>(rows);
  CUBLAS_CHECK(cublasSgemv_64(cublas(), CUBLAS_OP_N, m, n, &one, x, m, ones(rows), 1, &zero, out, 1));
}

// cuBLAS specifies no order, so the bound must hold for any order.
LADDER_STEP(ColSum, launch, [](std::size_t rows, std::size_t) { return rows; });
