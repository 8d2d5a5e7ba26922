// bug: two reductions share an array without a barrier between them: a sum overwrites the maximum that some still read
// caught by: cpu forward | is wrong
// caught by: cpu-asan forward | is wrong
// caught by: cpu-trace | shared memory with no barrier between
// caught by: gpu racecheck | hazard | --rows=3 --cols=300
// stage: right
#include "../row_softmax.cuh"

constexpr int kBlock = 256;

__global__ void row_softmax_shared_reused(const float* __restrict__ x, float* __restrict__ y, std::size_t cols) {
  __shared__ float tile[kBlock];
  const int tid = threadIdx.x;
  x += blockIdx.x * cols;
  y += blockIdx.x * cols;

  float max = -INFINITY;
  for (std::size_t j = tid; j < cols; j += kBlock) max = fmaxf(max, x[j]);
  tile[tid] = max;
  __syncthreads();
  for (int stride = kBlock / 2; stride > 0; stride /= 2) {
    if (tid < stride) tile[tid] = fmaxf(tile[tid], tile[tid + stride]);
    __syncthreads();
  }
  max = tile[0];
  // __syncthreads() is needed here

  float sum = 0.0f;
  for (std::size_t j = tid; j < cols; j += kBlock) sum += expf(x[j] - max);
  tile[tid] = sum;
  __syncthreads();
  for (int stride = kBlock / 2; stride > 0; stride /= 2) {
    if (tid < stride) tile[tid] += tile[tid + stride];
    __syncthreads();
  }
  sum = tile[0];

  for (std::size_t j = tid; j < cols; j += kBlock) y[j] = expf(x[j] - max) / sum;
}

static void launch(const float* x, float* y, std::size_t rows, std::size_t cols) {
  if (rows == 0 || cols == 0) return;
  row_softmax_shared_reused<<<static_cast<unsigned>(rows), kBlock>>>(x, y, cols);
  CUDA_CHECK(cudaGetLastError());
}

// Numerator: exp and division. Denominator: exp; a thread's additions and 8 levels of tree.
static std::size_t roundings(std::size_t cols) { return 5 + 4 + ceil_div(cols, kBlock) + 8; }

LADDER_STEP(RowSoftmax, launch, roundings);
