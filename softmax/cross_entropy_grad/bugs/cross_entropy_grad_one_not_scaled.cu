// bug: the softmax is multiplied by scale, but not the 1 that is subtracted from it
// caught by: cpu forward | is wrong
// caught by: cpu-asan forward | is wrong
// caught by: gpu | is wrong
// stage: right
#include "../../online_softmax.cuh"
#include "../cross_entropy_grad.cuh"

constexpr int kBlock = 256;

__global__ void cross_entropy_grad_one_not_scaled(const float* __restrict__ x, const int* __restrict__ target,
                                                  float* __restrict__ dx, std::size_t cols, float scale) {
  const int tid = threadIdx.x;
  x += blockIdx.x * cols;
  dx += blockIdx.x * cols;
  MaxSum s = {-INFINITY, 0.0f};
  for (std::size_t j = tid; j < cols; j += kBlock) s = merge(s, {x[j], 1.0f});
  s = block_merge(s);
  const auto t = static_cast<std::size_t>(target[blockIdx.x]);
  const float factor = (t < cols ? scale : NAN) / s.sum;
  for (std::size_t j = tid; j < cols; j += kBlock) dx[j] = expf(x[j] - s.max) * factor - (j == t ? 1.0f : 0.0f);
}

static void launch(const float* x, const int* target, float* dx, std::size_t rows, std::size_t cols, float scale) {
  if (rows == 0 || cols == 0) return;
  cross_entropy_grad_one_not_scaled<<<static_cast<unsigned>(rows), kBlock>>>(x, target, dx, cols, scale);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(CrossEntropyGrad, launch);
