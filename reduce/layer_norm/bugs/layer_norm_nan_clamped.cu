// bug: fmaxf(variance, 0), meant for rounding errors, turns NaN into 0, so a row with an infinity is not NaN
// caught by: cpu forward | one infinity data
// caught by: cpu-asan forward | one infinity data
// caught by: gpu | one infinity data
// stage: right
#include "../layer_norm.cuh"

constexpr int kBlock = 256;

// Returns the sum over the warp to all lanes. All 32 lanes must call it.
__device__ static double warp_sum(double v) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) v += __shfl_xor_sync(0xffffffff, v, offset);
  return v;
}

__global__ void layer_norm_nan_clamped(const float* __restrict__ x, const float* __restrict__ gamma,
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
  const float variance = fmaxf(static_cast<float>(difference), 0.0f);  // must be difference < 0 ? 0 : difference
  const float factor = rsqrtf(variance + epsilon);

  // scale, shift, store
  for (std::size_t c = lane; c < cols; c += 32) y[c] = (x[c] - mean) * factor * gamma[c] + beta[c];
}

static void launch(const float* x, const float* gamma, const float* beta, float* y, std::size_t rows, std::size_t cols,
                   float epsilon) {
  if (rows == 0 || cols == 0) return;
  const auto grid = static_cast<unsigned>(ceil_div(rows, kBlock / 32));
  layer_norm_nan_clamped<<<grid, kBlock>>>(x, gamma, beta, y, rows, cols, epsilon);
  CUDA_CHECK(cudaGetLastError());
}

static std::size_t roundings(std::size_t cols) { return LayerNorm::two_passes(ceil_div(cols, 32) + 5); }

LADDER_STEP(LayerNorm, launch, roundings);
