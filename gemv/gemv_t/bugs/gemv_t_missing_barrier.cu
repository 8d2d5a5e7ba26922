// bug: no barrier between storing the threads' sums in the tile and adding them, so some may not be stored yet
// caught by: cpu forward | is wrong
// caught by: cpu-asan forward | is wrong
// caught by: cpu-trace | shared memory with no barrier between
// caught by: gpu racecheck | hazard | --m=64 --k=64
// stage: right
#include "../gemv_t.cuh"

constexpr unsigned kColumns = 32, kRows = 8;

__global__ void gemv_t_missing_barrier(std::size_t m, std::size_t k, float alpha, const float* __restrict__ A,
                                       std::size_t lda, const float* __restrict__ x, float beta,
                                       float* __restrict__ y) {
  __shared__ float tile[kRows][kColumns];
  const unsigned tx = threadIdx.x, ty = threadIdx.y;
  const std::size_t column = std::size_t{blockIdx.x} * kColumns + tx;
  float sum = 0.0f;
  if (column < k) {
    for (std::size_t i = ty; i < m; i += kRows) sum += A[i * lda + column] * x[i];
  }
  tile[ty][tx] = sum;  // __syncthreads() is needed here
  if (ty != 0 || column >= k) return;
  for (unsigned r = 1; r < kRows; ++r) sum += tile[r][tx];
  y[column] = beta == 0.0f ? alpha * sum : alpha * sum + beta * y[column];
}

static void launch(std::size_t m, std::size_t k, float alpha, const float* A, std::size_t lda, const float* x,
                   float beta, float* y) {
  if (k == 0) return;
  if (alpha == 0) m = 0;
  const dim3 block(kColumns, kRows);
  gemv_t_missing_barrier<<<static_cast<unsigned>(ceil_div(k, kColumns)), block>>>(m, k, alpha, A, lda, x, beta, y);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(GemvT, launch);
