// Problem:  step 03 reads the row three times, because the variance needs the mean first.
// Idea:     variance = mean of x^2 - mean^2 takes one pass. It must be in double: in float, no digit of it is right at
//           a mean of 1e4 and a deviation of 1.
// Expect:   1.2 to 1.33x step 03 if the row doesn't stay in the caches; less without fast FP64 (1/2 of FP32 on sm_90,
//           1/64 on 8.9).
// Measured: 0.96x step 03, 0.63 of a copy at 32768x1024 (H200); 1.16x, 0.67 (H100).
// Why: slower at all lengths on the H200 and at some on the H100: caches serve part of the third read, and each load is
// converted to double in a slow pipe (hypothesis, not tested).
// Next:     why not fmaxf(variance, 0)? (It turns NaN into 0.) And how can one pass keep the digits in float?
#include "layer_norm.cuh"

constexpr int kBlock = 256;

// Returns the sum over the warp to all lanes. All 32 lanes must call it.
__device__ static double warp_sum(double v) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) v += __shfl_xor_sync(0xffffffff, v, offset);
  return v;
}

__global__ void layer_norm_one_pass(const float* __restrict__ x, const float* __restrict__ gamma,
                                    const float* __restrict__ beta, float* __restrict__ y, std::size_t rows,
                                    std::size_t cols, float epsilon) {
  const int lane = threadIdx.x % 32;
  const std::size_t row = (std::size_t{blockIdx.x} * kBlock + threadIdx.x) / 32;
  if (row >= rows) return;  // the whole warp returns; no __syncthreads() follows
  x += row * cols;
  y += row * cols;

  // sums of x and of x^2
  double sum = 0.0, squares = 0.0;
  for (std::size_t c = lane; c < cols; c += 32) {
    const double v = x[c];
    sum += v;
    squares += v * v;
  }
  sum = warp_sum(sum);
  const double difference = warp_sum(squares) / cols - sum / cols * (sum / cols);
  const float mean = static_cast<float>(sum / cols);
  const float variance = difference < 0.0 ? 0.0f : static_cast<float>(difference);  // below 0 by rounding; NaN stays
  const float factor = rsqrtf(variance + epsilon);

  // scale, shift, store
  for (std::size_t c = lane; c < cols; c += 32) y[c] = (x[c] - mean) * factor * gamma[c] + beta[c];
}

static void launch(const float* x, const float* gamma, const float* beta, float* y, std::size_t rows, std::size_t cols,
                   float epsilon) {
  if (rows == 0 || cols == 0) return;
  const auto grid = static_cast<unsigned>(ceil_div(rows, kBlock / 32));
  layer_norm_one_pass<<<grid, kBlock>>>(x, gamma, beta, y, rows, cols, epsilon);
  CUDA_CHECK(cudaGetLastError());
}

// In double, this variance is more accurate than two passes in float if max |x| < 2^29 sqrt(variance + epsilon).
static std::size_t roundings(std::size_t cols) { return LayerNorm::two_passes(ceil_div(cols, 32) + 5); }

LADDER_STEP(LayerNorm, launch, roundings);
