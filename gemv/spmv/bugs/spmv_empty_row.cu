// bug: a thread whose row is empty returns without storing 0, so y keeps its old value
// caught by: cpu forward | was never written
// caught by: gpu | was never written
// stage: right
#include "../spmv.cuh"

__global__ void spmv_empty_row(const int* __restrict__ offsets, const int* __restrict__ columns,
                               const float* __restrict__ values, const float* __restrict__ x, float* __restrict__ y,
                               std::size_t rows) {
  const std::size_t row = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  const int begin = offsets[row], end = offsets[row + 1];
  if (begin == end) return;
  float sum = 0.0f;
  for (int e = begin; e < end; ++e) sum += values[e] * x[columns[e]];
  y[row] = sum;
}

static void launch(const int* offsets, const int* columns, const float* values, const float* x, float* y,
                   std::size_t rows, std::size_t /*cols*/, std::size_t /*nnz*/) {
  if (rows == 0) return;
  constexpr int block = 256;
  spmv_empty_row<<<static_cast<unsigned>(ceil_div(rows, block)), block>>>(offsets, columns, values, x, y, rows);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Spmv, launch);
