// bug: no barrier between the tree's rounds, so a thread adds sums that have not been stored yet
// caught by: cpu forward | is wrong
// caught by: cpu-trace | shared memory with no barrier between
// caught by: gpu racecheck | hazard | --rows=300 --cols=8
// stage: right
#include "../col_sum.cuh"

constexpr unsigned kBlock = 256, kWidth = 8;

__global__ void col_sum_missing_barrier(const float* __restrict__ x, float* __restrict__ out, std::size_t rows,
                                        std::size_t cols) {
  __shared__ float sums[kBlock];
  const std::size_t column = std::size_t{blockIdx.x} * kWidth + threadIdx.x % kWidth;
  float sum = 0.0f;
  if (column < cols) {
    for (std::size_t r = threadIdx.x / kWidth; r < rows; r += kBlock / kWidth) sum += x[r * cols + column];
  }
  sums[threadIdx.x] = sum;
  __syncthreads();
  for (unsigned half = kBlock / 2; half >= kWidth; half /= 2) {
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
  }
  if (threadIdx.x < kWidth && column < cols) out[column] = sums[threadIdx.x];
}

static void launch(const float* x, float* out, std::size_t rows, std::size_t cols) {
  if (cols == 0) return;
  col_sum_missing_barrier<<<static_cast<unsigned>(ceil_div(cols, kWidth)), kBlock>>>(x, out, rows, cols);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(ColSum, launch);
