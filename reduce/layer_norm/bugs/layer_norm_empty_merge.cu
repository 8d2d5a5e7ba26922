// bug: two lanes without elements are merged: the share 0 / 0 is NaN, and makes the whole row NaN
// caught by: cpu forward | is wrong
// caught by: cpu-asan forward | is wrong
// caught by: gpu | is wrong
// stage: right
#include "../layer_norm.cuh"
#include "../../moments.cuh"

constexpr int kBlock = 256;

// Merges over the warp and returns the result to all lanes. All 32 lanes must call it.
__device__ static Moments warp_merge_unguarded(Moments m) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) {
    const Moments other = {__shfl_xor_sync(0xffffffff, m.n, offset), __shfl_xor_sync(0xffffffff, m.mean, offset),
                           __shfl_xor_sync(0xffffffff, m.squares, offset)};
    const float n = m.n + other.n, share = other.n / n, d = other.mean - m.mean;  // must be n > 0 ? other.n / n : 0
    m = {n, m.mean + d * share, m.squares + other.squares + d * d * m.n * share};
  }
  return m;
}

__global__ void layer_norm_empty_merge(const float* __restrict__ x, const float* __restrict__ gamma,
                                       const float* __restrict__ beta, float* __restrict__ y, std::size_t rows,
                                       std::size_t cols, float epsilon) {
  const int lane = threadIdx.x % 32;
  const std::size_t row = (std::size_t{blockIdx.x} * kBlock + threadIdx.x) / 32;
  if (row >= rows) return;  // the whole warp returns; no __syncthreads() follows
  x += row * cols;
  y += row * cols;

  // one pass for mean and variance
  Moments m = {0.0f, 0.0f, 0.0f};
  for (std::size_t c = lane; c < cols; c += 32) m = update(m, x[c]);
  m = warp_merge_unguarded(m);
  const float factor = rsqrtf(m.squares / cols + epsilon);

  // scale, shift, store
  for (std::size_t c = lane; c < cols; c += 32) y[c] = (x[c] - m.mean) * factor * gamma[c] + beta[c];
}

static void launch(const float* x, const float* gamma, const float* beta, float* y, std::size_t rows, std::size_t cols,
                   float epsilon) {
  if (rows == 0 || cols == 0) return;
  const auto grid = static_cast<unsigned>(ceil_div(rows, kBlock / 32));
  layer_norm_empty_merge<<<grid, kBlock>>>(x, gamma, beta, y, rows, cols, epsilon);
  CUDA_CHECK(cudaGetLastError());
}

// A lane's updates and 5 levels of tree.
static std::size_t roundings(std::size_t cols) { return LayerNorm::welford(ceil_div(cols, 32), 5); }

LADDER_STEP(LayerNorm, launch, roundings);
