// bug: elements too small to matter are skipped to save their exp; but NaN > anything is false, so NaN is skipped too
// caught by: cpu forward | one NaN data
// caught by: cpu-asan forward | one NaN data
// caught by: gpu | one NaN data
// stage: right
#include "../row_softmax.cuh"

constexpr int kBlock = 256;

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

__global__ void row_softmax_nan_skipped(const float* __restrict__ x, float* __restrict__ y, std::size_t rows,
                                        std::size_t cols) {
  const int lane = threadIdx.x % 32;
  const std::size_t row = (std::size_t{blockIdx.x} * kBlock + threadIdx.x) / 32;
  if (row >= rows) return;
  x += row * cols;
  y += row * cols;
  float max = -INFINITY;
  for (std::size_t j = lane; j < cols; j += 32) max = fmaxf(max, x[j]);
  max = warp_max(max);
  float sum = 0.0f;
  for (std::size_t j = lane; j < cols; j += 32) {
    if (x[j] - max > -104.0f) sum += expf(x[j] - max);  // !(x[j] - max <= -104.0f)
  }
  sum = warp_sum(sum);
  for (std::size_t j = lane; j < cols; j += 32) y[j] = expf(x[j] - max) / sum;
}

static void launch(const float* x, float* y, std::size_t rows, std::size_t cols) {
  if (rows == 0 || cols == 0) return;
  row_softmax_nan_skipped<<<static_cast<unsigned>(ceil_div(rows, kBlock / 32)), kBlock>>>(x, y, rows, cols);
  CUDA_CHECK(cudaGetLastError());
}

static std::size_t roundings(std::size_t cols) { return 5 + 4 + ceil_div(cols, 32) + 5; }

LADDER_STEP(RowSoftmax, launch, roundings);
