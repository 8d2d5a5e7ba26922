// Problem:  with 32 nonzeros per row, each lane of step 02 has one load in flight. With fewer, lanes idle.
// Idea:     2 to 32 lanes per row, a template parameter: about four nonzeros per lane at the mean row length.
// Expect:   at 32 per row 1.5 to 2x step 02 with 4096 columns, 0.9 to 1.0x with 2^20, where gathers keep L2 busy; 3 to
//           6x at 4 per row. Slower for a skewed matrix, whose longest rows have fewer lanes than before.
// Measured: 0.90x step 02, 0.90x cuSPARSE at 2^20x2^20x32 (H200).
// Next:     one row has half of all nonzeros. Which mapping by rows helps? (None: split the nonzeros, not the rows.)
#include "spmv.cuh"

constexpr int kBlock = 256;

template <int kLanes>
__global__ void spmv_lanes_by_mean(const int* __restrict__ offsets, const int* __restrict__ columns,
                                   const float* __restrict__ values, const float* __restrict__ x, float* __restrict__ y,
                                   std::size_t rows) {
  const std::size_t row = (std::size_t{blockIdx.x} * kBlock + threadIdx.x) / kLanes;
  const int lane = threadIdx.x % kLanes;
  float sum = 0.0f;
  if (row < rows) {  // no return: the shuffles below need all lanes of the warp
    const std::size_t end = offsets[row + 1];
#pragma unroll 4
    for (std::size_t e = static_cast<std::size_t>(offsets[row]) + lane; e < end; e += kLanes) {
      sum += values[e] * x[columns[e]];
    }
  }
#pragma unroll
  for (int offset = kLanes / 2; offset > 0; offset /= 2) sum += __shfl_down_sync(0xffffffff, sum, offset, kLanes);
  if (lane == 0 && row < rows) y[row] = sum;
}

static void launch(const int* offsets, const int* columns, const float* values, const float* x, float* y,
                   std::size_t rows, std::size_t /*cols*/, std::size_t nnz) {
  if (rows == 0) return;
  const std::size_t mean = nnz / rows;
  const int lanes = mean <= 8 ? 2 : mean <= 16 ? 4 : mean <= 32 ? 8 : mean <= 64 ? 16 : 32;
  const auto kernel = lanes == 2    ? spmv_lanes_by_mean<2>
                      : lanes == 4  ? spmv_lanes_by_mean<4>
                      : lanes == 8  ? spmv_lanes_by_mean<8>
                      : lanes == 16 ? spmv_lanes_by_mean<16>
                                    : spmv_lanes_by_mean<32>;
  kernel<<<static_cast<unsigned>(ceil_div(rows, kBlock / lanes)), kBlock>>>(offsets, columns, values, x, y, rows);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Spmv, launch);
