// Problem:  y = A x takes 8 bytes and one gather from x for 2 FLOP. Where a row begins is known only at run time.
// Idea:     one thread per row, straight from the definition.
// Expect:   0.3 to 0.7x cuSPARSE at 32 per row: the lanes of a warp read 32 rows, 32 sectors per request instead of 4,
//           but L1 serves half of them, and the gathers are the same. A skewed matrix waits for its longest row.
// Measured: 0.66x cuSPARSE at 2^20x2^20x32 (H200).
// Next:     which threads should read neighbouring nonzeros?
#include "spmv.cuh"

__global__ void spmv_thread_per_row(const int* __restrict__ offsets, const int* __restrict__ columns,
                                    const float* __restrict__ values, const float* __restrict__ x,
                                    float* __restrict__ y, std::size_t rows) {
  const std::size_t row = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  const int end = offsets[row + 1];
  float sum = 0.0f;
  for (int e = offsets[row]; e < end; ++e) sum += values[e] * x[columns[e]];
  y[row] = sum;
}

static void launch(const int* offsets, const int* columns, const float* values, const float* x, float* y,
                   std::size_t rows, std::size_t /*cols*/, std::size_t /*nnz*/) {
  if (rows == 0) return;
  constexpr int block = 256;
  spmv_thread_per_row<<<static_cast<unsigned>(ceil_div(rows, block)), block>>>(offsets, columns, values, x, y, rows);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Spmv, launch);
