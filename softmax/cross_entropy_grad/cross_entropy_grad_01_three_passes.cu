// Problem:  (softmax(x) - one hot) * scale for each row: x must be read and dx written once, 8 bytes per element.
// Idea:     one block per row, straight from the formula: a pass for the maximum, one for the sum, one that writes.
// Expect:   0.3 to 0.5 of a copy at 4096x50257: three reads and a write are twice a copy's bytes. Up to 1056 rows in
//           flight are 212 MB, four times L2. 0.5 to 0.8 at 1024 and 4096 columns, whose rows in flight L2 holds.
// Measured: 0.33 of a copy at 4096x50257 (H200).
// Next:     the one hot vector is never stored. Which thread subtracts the 1, and when?
#include "cross_entropy_grad.cuh"
#include "../online_softmax.cuh"  // group_max, group_sum

constexpr int kBlock = 256, kWarps = kBlock / 32;

__global__ void cross_entropy_grad_three_passes(const float* __restrict__ x, const int* __restrict__ target,
                                                float* __restrict__ dx, std::size_t cols, float scale) {
  __shared__ float maxima[kWarps], sums[kWarps];
  const int tid = threadIdx.x, lane = tid % 32, warp = tid / 32;
  x += blockIdx.x * cols;
  dx += blockIdx.x * cols;

  // maximum: per thread, per warp, then of the warps
  float max = -INFINITY;
  for (std::size_t j = tid; j < cols; j += kBlock) max = fmaxf(max, x[j]);
  max = group_max<32>(max);
  if (lane == 0) maxima[warp] = max;
  __syncthreads();
  max = group_max<kWarps>(maxima[lane % kWarps]);

  // sum, the same way
  float sum = 0.0f;
  for (std::size_t j = tid; j < cols; j += kBlock) sum += expf(x[j] - max);
  sum = group_sum<32>(sum);
  if (lane == 0) sums[warp] = sum;
  __syncthreads();
  sum = group_sum<kWarps>(sums[lane % kWarps]);

  // store: the thread that has the target's element subtracts the 1
  const auto t = static_cast<std::size_t>(target[blockIdx.x]);  // a negative target becomes very large
  const float inverse = 1.0f / sum, factor = t < cols ? scale : NAN;
  for (std::size_t j = tid; j < cols; j += kBlock) {
    dx[j] = (expf(x[j] - max) * inverse - (j == t ? 1.0f : 0.0f)) * factor;
  }
}

static void launch(const float* x, const int* target, float* dx, std::size_t rows, std::size_t cols, float scale) {
  if (rows == 0 || cols == 0) return;  // a grid of 0 blocks is an error
  cross_entropy_grad_three_passes<<<static_cast<unsigned>(rows), kBlock>>>(x, target, dx, cols, scale);
  CUDA_CHECK(cudaGetLastError());
}

// Numerator: exp, inverse, product. Denominator: exp, a thread's additions, 5 levels of a warp's tree and 3 of the
// warps.
static std::size_t roundings(std::size_t cols) { return 6 + 4 + ceil_div(cols, kBlock) + 8; }

LADDER_STEP(CrossEntropyGrad, launch, roundings);
