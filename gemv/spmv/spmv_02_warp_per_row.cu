// Problem:  the lanes of a warp in step 01 read 32 different rows, and the longest of them holds up the other 31.
// Idea:     one warp per row. Its lanes read neighbouring columns and values; five shuffles add their partial sums.
// Expect:   1.3 to 2x step 01 at 32 per row: 4 sectors per request of columns and values. x is still gathered, 32
//           sectors per request, and that is the limit with 2^20 columns. Rows of 4 leave 28 lanes idle.
// Measured: 1.50x step 01, 0.99x cuSPARSE at 2^20x2^20x32 (H200).
// Next:     at 4 nonzeros per row, how many lanes should share a row?
#include "block_reduce.cuh"
#include "spmv.cuh"

__global__ void spmv_warp_per_row(const int* __restrict__ offsets, const int* __restrict__ columns,
                                  const float* __restrict__ values, const float* __restrict__ x, float* __restrict__ y,
                                  std::size_t rows) {
  const std::size_t row = (std::size_t{blockIdx.x} * blockDim.x + threadIdx.x) / 32;  // 32 * rows may exceed 2^32
  const int lane = threadIdx.x % 32;
  if (row >= rows) return;  // the whole warp returns, so no shuffle misses a lane
  const std::size_t end = offsets[row + 1];
  float sum = 0.0f;
  for (std::size_t e = static_cast<std::size_t>(offsets[row]) + lane; e < end; e += 32)
    sum += values[e] * x[columns[e]];
  sum = warp_sum_to_lane_0(sum);
  if (lane == 0) y[row] = sum;  // 0 for an empty row
}

static void launch(const int* offsets, const int* columns, const float* values, const float* x, float* y,
                   std::size_t rows, std::size_t /*cols*/, std::size_t /*nnz*/) {
  if (rows == 0) return;
  constexpr int block = 256;
  const auto grid = static_cast<unsigned>(ceil_div(rows, block / 32));
  spmv_warp_per_row<<<grid, block>>>(offsets, columns, values, x, y, rows);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Spmv, launch);
