// bug: two sums share an array without a barrier between them, so squares overwrite sums that others still have to read
// caught by: cpu forward | is wrong
// caught by: cpu-asan forward | is wrong
// caught by: cpu-trace | shared memory with no barrier between
// caught by: gpu racecheck | hazard | --rows=3 --cols=300
// stage: right
#include "../layer_norm.cuh"

constexpr int kBlock = 256;

__global__ void layer_norm_shared_reused(const float* __restrict__ x, const float* __restrict__ gamma,
                                         const float* __restrict__ beta, float* __restrict__ y, std::size_t cols,
                                         float epsilon) {
  __shared__ float tile[kBlock];
  const int tid = threadIdx.x;
  x += blockIdx.x * cols;
  y += blockIdx.x * cols;

  // mean: per thread, then a tree in shared memory
  float sum = 0.0f;
  for (std::size_t c = tid; c < cols; c += kBlock) sum += x[c];
  tile[tid] = sum;
  __syncthreads();
  for (int stride = kBlock / 2; stride > 0; stride /= 2) {
    if (tid < stride) tile[tid] += tile[tid + stride];
    __syncthreads();
  }
  const float mean = tile[0] / cols;
  // __syncthreads() is needed here

  // variance: the same reduction
  float squares = 0.0f;
  for (std::size_t c = tid; c < cols; c += kBlock) squares += (x[c] - mean) * (x[c] - mean);
  tile[tid] = squares;
  __syncthreads();
  for (int stride = kBlock / 2; stride > 0; stride /= 2) {
    if (tid < stride) tile[tid] += tile[tid + stride];
    __syncthreads();
  }
  const float factor = rsqrtf(tile[0] / cols + epsilon);

  // scale, shift, store
  for (std::size_t c = tid; c < cols; c += kBlock) y[c] = (x[c] - mean) * factor * gamma[c] + beta[c];
}

static void launch(const float* x, const float* gamma, const float* beta, float* y, std::size_t rows, std::size_t cols,
                   float epsilon) {
  if (rows == 0 || cols == 0) return;
  layer_norm_shared_reused<<<static_cast<unsigned>(rows), kBlock>>>(x, gamma, beta, y, cols, epsilon);
  CUDA_CHECK(cudaGetLastError());
}

// A thread's additions and 8 levels of tree.
static std::size_t roundings(std::size_t cols) { return LayerNorm::two_passes(ceil_div(cols, kBlock) + 8); }

LADDER_STEP(LayerNorm, launch, roundings);
