// bug: rows share a buffer in shared memory; without a barrier a fast warp stores its next sum before the last is read
// caught by: cpu reverse | is wrong
// caught by: cpu-trace | shared memory with no barrier between
// caught by: gpu racecheck | hazard | --rows=1009 --cols=40
// stage: races and barriers
#include "../row_sum.cuh"

constexpr int kBlock = 256, kBlocks = 64;

__global__ void row_sum_no_barrier_between(const float* __restrict__ x, float* __restrict__ out, std::size_t rows,
                                           std::size_t cols) {
  __shared__ float warp_sums[kBlock / 32];
  const int tid = threadIdx.x, lane = tid % 32, warp = tid / 32;
  for (std::size_t row = blockIdx.x; row < rows; row += kBlocks) {
    float sum = 0.0f;
    for (std::size_t c = tid; c < cols; c += kBlock) sum += x[row * cols + c];
    for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(0xffffffff, sum, offset);
    if (lane == 0)
      warp_sums[warp] = sum;  // __syncthreads() is needed before this: thread 0 may still read the last row's
    __syncthreads();
    if (tid == 0) {
      sum = 0.0f;
      for (const float s : warp_sums) sum += s;
      out[row] = sum;
    }
  }
}

static void launch(const float* x, float* out, std::size_t rows, std::size_t cols) {
  if (rows == 0) return;
  row_sum_no_barrier_between<<<kBlocks, kBlock>>>(x, out, rows, cols);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(RowSum, launch, [](std::size_t, std::size_t cols) { return cols + 8; });
