// bug: the pairs of a column are merged before all warps have stored theirs
// caught by: cpu forward | is wrong
// caught by: cpu-asan forward | is wrong
// caught by: cpu-trace | shared memory with no barrier between
// caught by: gpu racecheck | hazard | --rows=70 --cols=40
// stage: right
#include "../col_softmax.cuh"
#include "../../online_softmax.cuh"

constexpr int kColumns = 32, kWarps = 32;

__global__ void col_softmax_missing_barrier(const float* __restrict__ x, float* __restrict__ y, std::size_t rows,
                                            std::size_t cols) {
  __shared__ MaxSum pairs[kWarps][kColumns + 1], totals[kColumns];
  const int lane = threadIdx.x, warp = threadIdx.y;
  const std::size_t col = std::size_t{blockIdx.x} * kColumns + lane;
  const bool inside = col < cols;  // no return: all threads must reach the barriers

  MaxSum s = {-INFINITY, 0.0f};
  for (std::size_t i = warp; inside && i < rows; i += kWarps) s = merge(s, {x[i * cols + col], 1.0f});
  pairs[warp][lane] = s;
  // __syncthreads() is needed here
  s = pairs[lane][warp];  // column `warp`
  s = warp_merge(s);
  if (lane == 0) totals[warp] = s;
  __syncthreads();
  s = totals[lane];
  for (std::size_t i = warp; inside && i < rows; i += kWarps)
    y[i * cols + col] = expf(x[i * cols + col] - s.max) / s.sum;
}

static void launch(const float* x, float* y, std::size_t rows, std::size_t cols) {
  if (rows == 0 || cols == 0) return;
  const auto grid = static_cast<unsigned>(ceil_div(cols, kColumns));
  col_softmax_missing_barrier<<<grid, dim3(kColumns, kWarps)>>>(x, y, rows, cols);
  CUDA_CHECK(cudaGetLastError());
}

// Numerator: exp and division. Denominator: exp, product and addition for each merge: those of a thread, then 5.
static std::size_t roundings(std::size_t rows) { return 5 + 6 * (ceil_div(rows, kWarps) + 5); }

LADDER_STEP(ColSoftmax, launch, roundings);
