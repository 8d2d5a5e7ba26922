#include <cuda_runtime.h>

#include <cmath>

// Ask: what does a target outside of the row mean? Here the row becomes NaN.
// Say: dx = (softmax - one hot) * scale: 8 bytes per element, so memory is the limit. The one hot vector is not stored:
// the lane that has the target's element subtracts 1 before it stores. A later subtraction would need a barrier.
// Say: a warp per row, so no barrier. Three passes: maximum, sum, result. One unsigned test covers both ends of t.
// Next: the online rule finds maximum and sum in one pass (02). A row in shared memory is read once (03). float4 from
// its own boundary (04).
__global__ void cross_entropy_grad(const float* x, const int* target, float* dx, size_t rows, size_t cols,
                                   float scale) {
  const int lane = threadIdx.x % 32;
  const size_t row = (size_t{blockIdx.x} * blockDim.x + threadIdx.x) / 32;
  if (row >= rows) return;  // a whole warp, and no barrier follows
  x += row * cols;
  dx += row * cols;
  float max = -INFINITY, sum = 0.0f;
  for (size_t j = lane; j < cols; j += 32) max = fmaxf(max, x[j]);
  for (int mask = 16; mask > 0; mask /= 2) max = fmaxf(max, __shfl_xor_sync(0xffffffff, max, mask));
  for (size_t j = lane; j < cols; j += 32) sum += expf(x[j] - max);
  for (int mask = 16; mask > 0; mask /= 2) sum += __shfl_xor_sync(0xffffffff, sum, mask);
  const size_t t = target[row];  // a negative one becomes very large
  const float inverse = 1.0f / sum, factor = t < cols ? scale : NAN;
  for (size_t j = lane; j < cols; j += 32) dx[j] = (expf(x[j] - max) * inverse - (j == t ? 1.0f : 0.0f)) * factor;
}

cudaError_t launch(const float* x, const int* target, float* dx, size_t rows, size_t cols, float scale) {
  if (rows == 0 || cols == 0) return cudaSuccess;  // a grid of 0 blocks is an error
  const unsigned block = 256, rows_per_block = block / 32, grid = (rows + rows_per_block - 1) / rows_per_block;
  cross_entropy_grad<<<grid, block>>>(x, target, dx, rows, cols, scale);
  return cudaGetLastError();
}

// The answer ends here; the rest is for the checks.
#include "cross_entropy_grad.cuh"
#include "whiteboard.cuh"

// Numerator: exp, inverse, product. Denominator: exp; a lane's additions and 5 levels of tree.
static std::size_t roundings(std::size_t cols) { return 6 + 4 + ceil_div(cols, 32) + 5; }

LADDER_STEP(CrossEntropyGrad, checked<launch>, roundings);
