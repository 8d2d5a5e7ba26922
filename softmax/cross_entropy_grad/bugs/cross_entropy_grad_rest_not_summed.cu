// bug: if a row is longer than shared memory, only the part that fits is in the sum
// caught by: cpu forward | is wrong
// caught by: cpu-asan forward | is wrong
// caught by: gpu | is wrong
// stage: right
#include "../../online_softmax.cuh"
#include "../cross_entropy_grad.cuh"

constexpr unsigned kBlock = 256, kMost = 256;

__global__ void cross_entropy_grad_rest_not_summed(const float* __restrict__ x, const int* __restrict__ target,
                                                   float* __restrict__ dx, std::size_t cols, float scale) {
  __shared__ float row[kMost];
  const unsigned tid = threadIdx.x, held = min(cols, std::size_t{kMost});
  x += blockIdx.x * cols;
  dx += blockIdx.x * cols;
  MaxSum s = {-INFINITY, 0.0f};
  for (unsigned j = tid; j < held; j += kBlock) {
    row[j] = x[j];
    s = merge(s, {row[j], 1.0f});
  }
  s = block_merge(s);
  const auto t = static_cast<std::size_t>(target[blockIdx.x]);
  const float inverse = 1.0f / s.sum, factor = t < cols ? scale : NAN;
  for (std::size_t j = tid; j < cols; j += kBlock) {
    const float v = j < held ? row[j] : x[j];
    dx[j] = (expf(v - s.max) * inverse - (j == t ? 1.0f : 0.0f)) * factor;
  }
}

static void launch(const float* x, const int* target, float* dx, std::size_t rows, std::size_t cols, float scale) {
  if (rows == 0 || cols == 0) return;
  cross_entropy_grad_rest_not_summed<<<static_cast<unsigned>(rows), kBlock>>>(x, target, dx, cols, scale);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(CrossEntropyGrad, launch);
