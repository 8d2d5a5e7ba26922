// Step 01 gives a row to one thread. Idea: a block for each row. Neighbouring threads read neighbouring elements, and
// the threads' maxima, then their sums, are reduced by a tree in shared memory. Two reductions share the array `tile`,
// so a barrier must stand between them: nobody may store a sum while another thread still reads the maximum.
// Expect: an order of magnitude, most of it from coalescing. The row is still read three times, but from DRAM only
// once, as long as the rows being worked on fit into L1 and L2.
// Next question: how many barriers does a row cost? (18 here, each a wait for the slowest warp. Fewer threads, fewer.)
#include "row_softmax.cuh"

constexpr int kBlock = 256;

__global__ void row_softmax_block_per_row(const float* __restrict__ x, float* __restrict__ y, std::size_t cols) {
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
  __syncthreads();  // everybody has the maximum, tile may be used again

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
  row_softmax_block_per_row<<<static_cast<unsigned>(rows), kBlock>>>(x, y, cols);
  CUDA_CHECK(cudaGetLastError());
}

// exp and division above, exp below; a thread's additions and 8 levels of tree.
static std::size_t roundings(std::size_t cols) { return 5 + 4 + ceil_div(cols, kBlock) + 8; }

LADDER_STEP(RowSoftmax, launch, roundings);
