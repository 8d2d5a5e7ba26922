// bug: the second loop adds x again to a residual that already holds the sum
// caught by: cpu forward | is wrong
// caught by: cpu-asan forward | is wrong
// caught by: gpu | is wrong
// stage: right
#include "../add_rms_norm.cuh"

constexpr int kBlock = 256;

// Returns the sum over the warp to all lanes. All 32 lanes must call it.
__device__ static float warp_sum(float v) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) v += __shfl_xor_sync(0xffffffff, v, offset);
  return v;
}

__global__ void add_rms_norm_added_twice(const float* __restrict__ x, const float* __restrict__ gamma,
                                         float* __restrict__ residual, float* __restrict__ y, std::size_t rows,
                                         std::size_t cols, float epsilon) {
  const unsigned lane = threadIdx.x % 32;
  const std::size_t row = (std::size_t{blockIdx.x} * kBlock + threadIdx.x) / 32;
  if (row >= rows) return;  // the whole warp returns; no __syncthreads() follows
  x += row * cols;
  residual += row * cols;
  y += row * cols;
  float squares = 0.0f;
  for (std::size_t c = lane; c < cols; c += 32) {
    const float z = x[c] + residual[c];
    residual[c] = z;
    squares += z * z;
  }
  const float factor = rsqrtf(warp_sum(squares) / cols + epsilon);
  for (std::size_t c = lane; c < cols; c += 32) y[c] = (x[c] + residual[c]) * factor * gamma[c];  // residual[c] alone
}

static void launch(const float* x, const float* gamma, float* residual, float* y, std::size_t rows, std::size_t cols,
                   float epsilon) {
  if (rows == 0 || cols == 0) return;
  const auto grid = static_cast<unsigned>(ceil_div(rows, kBlock / 32));
  add_rms_norm_added_twice<<<grid, kBlock>>>(x, gamma, residual, y, rows, cols, epsilon);
  CUDA_CHECK(cudaGetLastError());
}

// A lane's additions and 5 levels of tree.
static std::size_t roundings(std::size_t cols) { return AddRmsNorm::by_root_mean_square(ceil_div(cols, 32) + 5); }

LADDER_STEP(AddRmsNorm, launch, roundings);
