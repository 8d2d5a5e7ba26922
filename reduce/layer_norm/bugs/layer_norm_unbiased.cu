// bug: the squares are divided by cols - 1, the sample variance; a row of one element becomes NaN
// caught by: cpu forward | is wrong
// caught by: cpu-asan forward | is wrong
// caught by: gpu | is wrong
// stage: right
#include "../layer_norm.cuh"

constexpr int kBlock = 256;

// Returns the sum over the warp to all lanes. All 32 lanes must call it.
__device__ static float warp_sum(float v) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) v += __shfl_xor_sync(0xffffffff, v, offset);
  return v;
}

__global__ void layer_norm_unbiased(const float* __restrict__ x, const float* __restrict__ gamma,
                                    const float* __restrict__ beta, float* __restrict__ y, std::size_t rows,
                                    std::size_t cols, float epsilon) {
  const int lane = threadIdx.x % 32;
  const std::size_t row = (std::size_t{blockIdx.x} * kBlock + threadIdx.x) / 32;
  if (row >= rows) return;  // the whole warp returns; no __syncthreads() follows
  x += row * cols;
  y += row * cols;

  // mean
  float sum = 0.0f;
  for (std::size_t c = lane; c < cols; c += 32) sum += x[c];
  const float mean = warp_sum(sum) / cols;

  // variance of the row itself, not an estimate from a sample, so the divisor must be cols
  float squares = 0.0f;
  for (std::size_t c = lane; c < cols; c += 32) squares += (x[c] - mean) * (x[c] - mean);
  const float factor = rsqrtf(warp_sum(squares) / (cols - 1) + epsilon);

  // scale, shift, store
  for (std::size_t c = lane; c < cols; c += 32) y[c] = (x[c] - mean) * factor * gamma[c] + beta[c];
}

static void launch(const float* x, const float* gamma, const float* beta, float* y, std::size_t rows, std::size_t cols,
                   float epsilon) {
  if (rows == 0 || cols == 0) return;
  const auto grid = static_cast<unsigned>(ceil_div(rows, kBlock / 32));
  layer_norm_unbiased<<<grid, kBlock>>>(x, gamma, beta, y, rows, cols, epsilon);
  CUDA_CHECK(cudaGetLastError());
}

// A lane's additions and 5 levels of tree.
static std::size_t roundings(std::size_t cols) { return LayerNorm::two_passes(ceil_div(cols, 32) + 5); }

LADDER_STEP(LayerNorm, launch, roundings);
