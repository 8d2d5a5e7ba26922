// bug: only the upper end of a target is tested, so the row of a padding token, -1, becomes a softmax
// caught by: cpu forward | targets outside data
// caught by: cpu-asan forward | targets outside data
// caught by: gpu | targets outside data
// stage: right
#include "../../online_softmax.cuh"
#include "../cross_entropy_grad.cuh"

constexpr int kBlock = 256;

__global__ void cross_entropy_grad_signed_target(const float* __restrict__ x, const int* __restrict__ target,
                                                 float* __restrict__ dx, std::size_t cols, float scale) {
  const int tid = threadIdx.x;
  x += blockIdx.x * cols;
  dx += blockIdx.x * cols;
  MaxSum s = {-INFINITY, 0.0f};
  for (std::size_t j = tid; j < cols; j += kBlock) s = merge(s, {x[j], 1.0f});
  s = block_merge(s);
  const long long t = target[blockIdx.x], end = static_cast<long long>(cols);
  const float inverse = 1.0f / s.sum, factor = t < end ? scale : NAN;
  for (long long j = tid; j < end; j += kBlock) {
    dx[j] = (expf(x[j] - s.max) * inverse - (j == t ? 1.0f : 0.0f)) * factor;
  }
}

static void launch(const float* x, const int* target, float* dx, std::size_t rows, std::size_t cols, float scale) {
  if (rows == 0 || cols == 0) return;
  cross_entropy_grad_signed_target<<<static_cast<unsigned>(rows), kBlock>>>(x, target, dx, cols, scale);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(CrossEntropyGrad, launch);
