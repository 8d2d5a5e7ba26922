// bug: the window is centred, as usual for a convolution, so an output depends on later inputs, and a model trained
// this way cannot generate
// caught by: cpu forward | is wrong
// caught by: gpu | is wrong
// stage: right
#include "../../plane_grid.cuh"
#include "../conv1d_causal.cuh"

__global__ void conv1d_causal_sees_future(const float* __restrict__ x, const float* __restrict__ w,
                                          const float* __restrict__ bias, float* __restrict__ out, std::int64_t rows,
                                          unsigned channels, long long length, int k) {
  const std::int64_t row = plane_of_block();
  const long long t = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (row >= rows || t >= length) return;
  const auto channel = static_cast<unsigned>(row) % channels;
  x += row * length;
  float sum = bias[channel];
  for (int j = 0; j < k; ++j) {
    const long long at = t - k / 2 + j;
    sum += w[std::size_t{channel} * k + j] * (at >= 0 && at < length ? x[at] : 0.0f);
  }
  out[row * length + t] = sum;
}

static void launch(const float* x, const float* w, const float* bias, float* out, std::size_t batch,
                   std::size_t channels, std::size_t length, int k) {
  const std::size_t rows = batch * channels;
  if (rows == 0 || length == 0) return;  // a grid of 0 blocks is an error
  constexpr int block = 256;
  conv1d_causal_sees_future<<<plane_grid(ceil_div(length, block), rows), block>>>(
      x, w, bias, out, static_cast<std::int64_t>(rows), static_cast<unsigned>(channels), length, k);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Conv1dCausal, launch);
