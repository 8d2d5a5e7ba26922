// Problem:  four taps per channel: 8 FLOP for 8 bytes to and from DRAM, so memory bandwidth is the limit.
// Idea:     one thread per output. A row is one channel of one sequence; its weights are the same for the whole block.
// Expect:   0.35 to 0.5 of a copy at 8x4096: a copy with one float per thread has 0.64 (H200) and 0.80 (H100), and here
//           an output takes nine loads and four tests. Instructions are the limit.
// Measured: 0.39 of a copy at 8x4096 (H200).
// Next:     a library of sequence models keeps x as batch x length x channels. Which thread reads what then?
#include "../plane_grid.cuh"
#include "conv1d_causal.cuh"

__global__ void conv1d_causal_global(const float* __restrict__ x, const float* __restrict__ w,
                                     const float* __restrict__ bias, float* __restrict__ out, std::int64_t rows,
                                     unsigned channels, long long length, int k) {
  const std::int64_t row = plane_of_block();
  const long long t = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (row >= rows || t >= length) return;
  const auto channel = static_cast<unsigned>(row) % channels;
  x += row * length;
  float sum = bias[channel];
  for (int j = 0; j < k; ++j) {
    const long long at = t - (k - 1) + j;
    sum += w[std::size_t{channel} * k + j] * (at >= 0 ? x[at] : 0.0f);
  }
  out[row * length + t] = sum;
}

static void launch(const float* x, const float* w, const float* bias, float* out, std::size_t batch,
                   std::size_t channels, std::size_t length, int k) {
  const std::size_t rows = batch * channels;
  if (rows == 0 || length == 0) return;  // a grid of 0 blocks is an error
  constexpr int block = 256;
  conv1d_causal_global<<<plane_grid(ceil_div(length, block), rows), block>>>(
      x, w, bias, out, static_cast<std::int64_t>(rows), static_cast<unsigned>(channels), length, k);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Conv1dCausal, launch);
