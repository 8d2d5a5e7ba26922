// A short row leaves most of step 02's threads idle, and they meet at 18 barriers. Idea: a warp for each row. Its lanes
// reduce by shuffles, lane 0 has the result and tells the others through shared memory. No __syncthreads: what one lane
// writes and the others read is ordered by __syncwarp(). Without it they may read before lane 0 has written, for since
// Volta the lanes of a warp need not run in lockstep. The same holds for writing again before all have read; here the
// sum has a place of its own, and each place is written once.
// Expect: twice step 02's speed or more on rows of up to a few hundred elements, nothing or a loss on long ones.
// Next question: does lane 0 have to tell anybody? (Not if all lanes get the result: step 04.)
#include "row_softmax.cuh"

constexpr int kBlock = 256;

// The maximum and the sum over the warp, in lane 0. All 32 lanes must call them.
__device__ static float warp_max(float v) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) v = fmaxf(v, __shfl_down_sync(0xffffffff, v, offset));
  return v;
}
__device__ static float warp_sum(float v) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) v += __shfl_down_sync(0xffffffff, v, offset);
  return v;
}

__global__ void row_softmax_warp_per_row(const float* __restrict__ x, float* __restrict__ y, std::size_t rows,
                                         std::size_t cols) {
  __shared__ float row_max[kBlock / 32], row_sum[kBlock / 32];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const std::size_t row = (static_cast<std::size_t>(blockIdx.x) * kBlock + threadIdx.x) / 32;
  if (row >= rows) return;  // the whole warp, and there is no barrier for the block
  x += row * cols;
  y += row * cols;

  float max = -INFINITY;
  for (std::size_t j = lane; j < cols; j += 32) max = fmaxf(max, x[j]);
  max = warp_max(max);
  if (lane == 0) row_max[warp] = max;
  __syncwarp();
  max = row_max[warp];

  float sum = 0.0f;
  for (std::size_t j = lane; j < cols; j += 32) sum += expf(x[j] - max);
  sum = warp_sum(sum);
  if (lane == 0) row_sum[warp] = sum;
  __syncwarp();
  sum = row_sum[warp];

  for (std::size_t j = lane; j < cols; j += 32) y[j] = expf(x[j] - max) / sum;
}

static void launch(const float* x, float* y, std::size_t rows, std::size_t cols) {
  if (rows == 0 || cols == 0) return;
  row_softmax_warp_per_row<<<static_cast<unsigned>(ceil_div(rows, kBlock / 32)), kBlock>>>(x, y, rows, cols);
  CUDA_CHECK(cudaGetLastError());
}

// exp and division above, exp below; a lane's additions and 5 levels of tree.
static std::size_t roundings(std::size_t cols) { return 5 + 4 + ceil_div(cols, 32) + 5; }

LADDER_STEP(RowSoftmax, launch, roundings);
