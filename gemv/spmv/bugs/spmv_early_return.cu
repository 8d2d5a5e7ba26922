// bug: lanes without a nonzero return before the shuffles, though other lanes read their values there
// caught by: cpu forward | has returned
// not caught by: gpu | a shuffle from a lane that has returned gives an undefined value, which may be the right one
// stage: races and barriers
#include "../spmv.cuh"

__global__ void spmv_early_return(const int* __restrict__ offsets, const int* __restrict__ columns,
                                  const float* __restrict__ values, const float* __restrict__ x, float* __restrict__ y,
                                  std::size_t rows) {
  const std::size_t row = (std::size_t{blockIdx.x} * blockDim.x + threadIdx.x) / 32;
  const int lane = threadIdx.x % 32;
  if (row >= rows) return;  // the whole warp returns
  const std::size_t end = offsets[row + 1];
  std::size_t e = static_cast<std::size_t>(offsets[row]) + lane;
  if (e >= end && lane > 0) return;  // nothing to do
  float sum = 0.0f;
  for (; e < end; e += 32) sum += values[e] * x[columns[e]];
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(0xffffffff, sum, offset);
  if (lane == 0) y[row] = sum;
}

static void launch(const int* offsets, const int* columns, const float* values, const float* x, float* y,
                   std::size_t rows, std::size_t /*cols*/, std::size_t /*nnz*/) {
  if (rows == 0) return;
  constexpr int block = 256;
  const auto grid = static_cast<unsigned>(ceil_div(rows, block / 32));
  spmv_early_return<<<grid, block>>>(offsets, columns, values, x, y, rows);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Spmv, launch);
