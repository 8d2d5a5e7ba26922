// bug: offsets[row + 1] is used as the row's length, so all rows but the first read on into later rows and past the end
// caught by: cpu forward | invalid address
// caught by: cpu-asan forward | heap-buffer-overflow
// caught by: gpu | spmv_end_as_length
// stage: memory
#include "../spmv.cuh"

__global__ void spmv_end_as_length(const int* __restrict__ offsets, const int* __restrict__ columns,
                                   const float* __restrict__ values, const float* __restrict__ x, float* __restrict__ y,
                                   std::size_t rows) {
  const std::size_t row = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  const int start = offsets[row], length = offsets[row + 1];
  float sum = 0.0f;
  for (int e = start; e < start + length; ++e) sum += values[e] * x[columns[e]];
  y[row] = sum;
}

static void launch(const int* offsets, const int* columns, const float* values, const float* x, float* y,
                   std::size_t rows, std::size_t /*cols*/, std::size_t /*nnz*/) {
  if (rows == 0) return;
  constexpr int block = 256;
  spmv_end_as_length<<<static_cast<unsigned>(ceil_div(rows, block)), block>>>(offsets, columns, values, x, y, rows);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Spmv, launch);
