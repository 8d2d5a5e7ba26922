// Problem:  step 01 reads the row once for the maximum, and again for the sum.
// Idea:     the online rule finds both in one pass: a pair (maximum, sum) of any elements merges with any other.
// Expect:   1.1 to 1.3x step 01 at 4096x50257: two reads instead of three, but two exps per element in the first pass.
//           Slower at 1024 and 4096 columns, where the read that it saves came from L2.
// Measured: 1.16x step 01, 0.38 of a copy at 4096x50257 (H200).
// Next:     the row is read twice, and a block has 227 KB of shared memory (sm_90). How long a row fits in it?
#include "cross_entropy_grad.cuh"
#include "../online_softmax.cuh"

constexpr int kBlock = 256;

__global__ void cross_entropy_grad_online(const float* __restrict__ x, const int* __restrict__ target,
                                          float* __restrict__ dx, std::size_t cols, float scale) {
  const int tid = threadIdx.x;
  x += blockIdx.x * cols;
  dx += blockIdx.x * cols;

  // maximum and sum
  MaxSum s = {-INFINITY, 0.0f};
  for (std::size_t j = tid; j < cols; j += kBlock) s = merge(s, {x[j], 1.0f});
  s = block_merge(s);

  // store: the thread that has the target's element subtracts the 1
  const auto t = static_cast<std::size_t>(target[blockIdx.x]);  // a negative target becomes very large
  const float inverse = 1.0f / s.sum, factor = t < cols ? scale : NAN;
  for (std::size_t j = tid; j < cols; j += kBlock) {
    dx[j] = (expf(x[j] - s.max) * inverse - (j == t ? 1.0f : 0.0f)) * factor;
  }
}

static void launch(const float* x, const int* target, float* dx, std::size_t rows, std::size_t cols, float scale) {
  if (rows == 0 || cols == 0) return;
  cross_entropy_grad_online<<<static_cast<unsigned>(rows), kBlock>>>(x, target, dx, cols, scale);
  CUDA_CHECK(cudaGetLastError());
}

// Numerator: exp, inverse, product. Denominator: exp, product and addition for each of a thread's merges; 20 for the
// block.
static std::size_t roundings(std::size_t cols) { return 6 + 6 * ceil_div(cols, kBlock) + 20; }

LADDER_STEP(CrossEntropyGrad, launch, roundings);
