// bug: log(softmax): the softmax is 0 for a logit 104 below the maximum, so the loss is +inf instead of 104
// caught by: cpu forward | thousands data
// caught by: cpu-asan forward | thousands data
// caught by: gpu | thousands data
// stage: right
#include "../cross_entropy.cuh"
#include "../../online_softmax.cuh"

constexpr int kBlock = 256;

__global__ void cross_entropy_log_of_softmax(const float* __restrict__ x, const int* __restrict__ target,
                                             float* __restrict__ loss, std::size_t cols) {
  const int tid = threadIdx.x;
  x += blockIdx.x * cols;
  MaxSum s = {-INFINITY, 0.0f};
  for (std::size_t j = tid; j < cols; j += kBlock) s = merge(s, {x[j], 1.0f});
  s = block_merge(s);
  if (tid > 0) return;
  const int t = target[blockIdx.x];
  const bool known = t >= 0 && static_cast<std::size_t>(t) < cols;
  loss[blockIdx.x] = known ? -logf(expf(x[t] - s.max) / s.sum) : NAN;
}

static void launch(const float* x, const int* target, float* loss, std::size_t rows, std::size_t cols) {
  if (rows == 0) return;
  cross_entropy_log_of_softmax<<<static_cast<unsigned>(rows), kBlock>>>(x, target, loss, cols);
  CUDA_CHECK(cudaGetLastError());
}

// Exp, product and addition for each merge: those of a thread, then 5 and 5.
static std::size_t roundings(std::size_t cols) { return 2 + 6 * (ceil_div(cols, kBlock) + 10); }

LADDER_STEP(CrossEntropy, launch, roundings);
