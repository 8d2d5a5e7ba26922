// bug: thread 0 subtracts the target's 1 from an element that another thread may not have stored yet
// caught by: cpu forward | is wrong
// caught by: cpu-trace | global memory with no
// caught by: gpu | is wrong
// stage: right
#include "../../online_softmax.cuh"
#include "../cross_entropy_grad.cuh"

constexpr int kBlock = 256;

__global__ void cross_entropy_grad_target_race(const float* __restrict__ x, const int* __restrict__ target,
                                               float* __restrict__ dx, std::size_t cols, float scale) {
  const int tid = threadIdx.x;
  x += blockIdx.x * cols;
  dx += blockIdx.x * cols;
  MaxSum s = {-INFINITY, 0.0f};
  for (std::size_t j = tid; j < cols; j += kBlock) s = merge(s, {x[j], 1.0f});
  s = block_merge(s);
  const auto t = static_cast<std::size_t>(target[blockIdx.x]);
  const float inverse = 1.0f / s.sum, factor = t < cols ? scale : NAN;
  for (std::size_t j = tid; j < cols; j += kBlock) dx[j] = expf(x[j] - s.max) * inverse * factor;
  if (tid == 0 && t < cols) dx[t] -= factor;
}

static void launch(const float* x, const int* target, float* dx, std::size_t rows, std::size_t cols, float scale) {
  if (rows == 0 || cols == 0) return;
  cross_entropy_grad_target_race<<<static_cast<unsigned>(rows), kBlock>>>(x, target, dx, cols, scale);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(CrossEntropyGrad, launch);
