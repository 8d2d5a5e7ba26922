// bug: epsilon is added outside the root, not under it: a row of 1e-4 is divided by 1.1e-4 instead of 3.2e-3
// caught by: cpu forward | is wrong
// caught by: cpu-asan forward | is wrong
// caught by: gpu | is wrong
// stage: right
#include "../rms_norm.cuh"

constexpr int kBlock = 256;

// Returns the sum over the warp to all lanes. All 32 lanes must call it.
__device__ static float warp_sum(float v) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) v += __shfl_xor_sync(0xffffffff, v, offset);
  return v;
}

__global__ void rms_norm_epsilon_outside(const float* __restrict__ x, const float* __restrict__ gamma,
                                         float* __restrict__ y, std::size_t rows, std::size_t cols, float epsilon) {
  const int lane = threadIdx.x % 32;
  const std::size_t row = (std::size_t{blockIdx.x} * kBlock + threadIdx.x) / 32;
  if (row >= rows) return;  // the whole warp returns; no __syncthreads() follows
  x += row * cols;
  y += row * cols;

  // mean of squares
  float squares = 0.0f;
  for (std::size_t c = lane; c < cols; c += 32) squares += x[c] * x[c];
  const float factor = 1.0f / (sqrtf(warp_sum(squares) / cols) + epsilon);  // must be rsqrtf(... + epsilon)

  // scale, store
  for (std::size_t c = lane; c < cols; c += 32) y[c] = x[c] * factor * gamma[c];
}

static void launch(const float* x, const float* gamma, float* y, std::size_t rows, std::size_t cols, float epsilon) {
  if (rows == 0 || cols == 0) return;
  const auto grid = static_cast<unsigned>(ceil_div(rows, kBlock / 32));
  rms_norm_epsilon_outside<<<grid, kBlock>>>(x, gamma, y, rows, cols, epsilon);
  CUDA_CHECK(cudaGetLastError());
}

// A lane's additions and 5 levels of tree.
static std::size_t roundings(std::size_t cols) { return RmsNorm::by_root_mean_square(ceil_div(cols, 32) + 5); }

LADDER_STEP(RmsNorm, launch, roundings);
