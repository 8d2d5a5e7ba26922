// Step 03 sends every result through lane 0 and shared memory. Idea: __shfl_xor_sync. Lane i exchanges with lane i ^
// 16, i ^ 8, ... i ^ 1: a butterfly, after which all lanes hold the result. As each exchange is symmetric, they all
// hold the same bits. Neither shared memory nor __syncwarp is left.
// Expect: a few per cent on short rows, where the way through shared memory counts; nothing on long ones.
// Next question: three reads for one write; how many does it take? (Two, if maximum and sum are found in one pass.)
#include "row_softmax.cuh"

constexpr int kBlock = 256;

// The maximum and the sum over the warp, in every lane. All 32 lanes must call them.
__device__ static float warp_max(float v) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) v = fmaxf(v, __shfl_xor_sync(0xffffffff, v, offset));
  return v;
}
__device__ static float warp_sum(float v) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) v += __shfl_xor_sync(0xffffffff, v, offset);
  return v;
}

__global__ void row_softmax_xor_shuffle(const float* __restrict__ x, float* __restrict__ y, std::size_t rows,
                                        std::size_t cols) {
  const int lane = threadIdx.x % 32;
  const std::size_t row = (static_cast<std::size_t>(blockIdx.x) * kBlock + threadIdx.x) / 32;
  if (row >= rows) return;  // the whole warp, and there is no barrier for the block
  x += row * cols;
  y += row * cols;

  float max = -INFINITY;
  for (std::size_t j = lane; j < cols; j += 32) max = fmaxf(max, x[j]);
  max = warp_max(max);

  float sum = 0.0f;
  for (std::size_t j = lane; j < cols; j += 32) sum += expf(x[j] - max);
  sum = warp_sum(sum);

  for (std::size_t j = lane; j < cols; j += 32) y[j] = expf(x[j] - max) / sum;
}

static void launch(const float* x, float* y, std::size_t rows, std::size_t cols) {
  if (rows == 0 || cols == 0) return;
  row_softmax_xor_shuffle<<<static_cast<unsigned>(ceil_div(rows, kBlock / 32)), kBlock>>>(x, y, rows, cols);
  CUDA_CHECK(cudaGetLastError());
}

// exp and division above, exp below; a lane's additions and 5 levels of tree.
static std::size_t roundings(std::size_t cols) { return 5 + 4 + ceil_div(cols, 32) + 5; }

LADDER_STEP(RowSoftmax, launch, roundings);
