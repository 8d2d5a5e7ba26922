// bug: lane 0 writes the result to shared memory and the warp reads it, but nothing orders the two
// caught by: cpu reverse | is wrong
// caught by: cpu-asan reverse | is wrong
// caught by: cpu-trace | shared memory with no barrier between
// caught by: gpu racecheck | hazard | --rows=3 --cols=100
// stage: races and barriers
#include "../row_softmax.cuh"

constexpr int kBlock = 256;

// Return the maximum and the sum over the warp to lane 0. All 32 lanes must call them.
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

__global__ void row_softmax_missing_syncwarp(const float* __restrict__ x, float* __restrict__ y, std::size_t rows,
                                             std::size_t cols) {
  __shared__ float row_max[kBlock / 32], row_sum[kBlock / 32];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const std::size_t row = (std::size_t{blockIdx.x} * kBlock + threadIdx.x) / 32;
  if (row >= rows) return;  // the whole warp, and no block barrier follows
  x += row * cols;
  y += row * cols;

  float max = -INFINITY;
  for (std::size_t j = lane; j < cols; j += 32) max = fmaxf(max, x[j]);
  max = warp_max(max);
  if (lane == 0) row_max[warp] = max;
  // __syncwarp() is needed here
  max = row_max[warp];

  float sum = 0.0f;
  for (std::size_t j = lane; j < cols; j += 32) sum += expf(x[j] - max);
  sum = warp_sum(sum);
  if (lane == 0) row_sum[warp] = sum;
  // and here
  sum = row_sum[warp];

  for (std::size_t j = lane; j < cols; j += 32) y[j] = expf(x[j] - max) / sum;
}

static void launch(const float* x, float* y, std::size_t rows, std::size_t cols) {
  if (rows == 0 || cols == 0) return;
  row_softmax_missing_syncwarp<<<static_cast<unsigned>(ceil_div(rows, kBlock / 32)), kBlock>>>(x, y, rows, cols);
  CUDA_CHECK(cudaGetLastError());
}

// Numerator: exp and division. Denominator: exp; a lane's additions and 5 levels of tree.
static std::size_t roundings(std::size_t cols) { return 5 + 4 + ceil_div(cols, 32) + 5; }

LADDER_STEP(RowSoftmax, launch, roundings);
