// Step 02 gives a long row to one warp, with one 4-byte load in flight per lane. Idea: a block for each row, and float4
// where all rows are 16-byte aligned: x is, and cols is a multiple of 4.
// Expect: near the memory's speed for rows of some thousand floats. Rows of 128 lose: 32 of 256 threads have one float4
// each, and all wait at the barrier. 64 rows are 64 blocks, for 132 multiprocessors.
// Next question: what decides between warp and block? (Whether there are enough rows to fill the GPU, and enough in a
// row to fill the group.)
#include "block_reduce.cuh"
#include "row_sum.cuh"

constexpr int kBlock = 256;

__global__ void row_sum_block_per_row(const float* __restrict__ x, float* __restrict__ out, std::size_t cols,
                                      bool aligned) {
  __shared__ float warp_sums[kBlock / 32];
  const int tid = threadIdx.x, lane = tid % 32, warp = tid / 32;
  const float* row = x + blockIdx.x * cols;
  const float4* row4 = reinterpret_cast<const float4*>(row);
  const std::size_t n4 = aligned ? cols / 4 : 0;
  float sum = 0.0f;
  for (std::size_t c = tid; c < n4; c += kBlock) {
    const float4 v = row4[c];
    sum += (v.x + v.y) + (v.z + v.w);
  }
  for (std::size_t c = 4 * n4 + tid; c < cols; c += kBlock) sum += row[c];
  sum = warp_sum(sum);
  if (lane == 0) warp_sums[warp] = sum;
  __syncthreads();
  if (warp == 0) {
    sum = warp_sum(lane < kBlock / 32 ? warp_sums[lane] : 0.0f);
    if (lane == 0) out[blockIdx.x] = sum;
  }
}

static void launch(const float* x, float* out, std::size_t rows, std::size_t cols) {
  if (rows == 0) return;
  const bool aligned = aligned_for<float4>(x) && cols % 4 == 0;
  row_sum_block_per_row<<<static_cast<unsigned>(rows), kBlock>>>(x, out, cols, aligned);
  CUDA_CHECK(cudaGetLastError());
}

// A thread's chain, longest if the rows are not aligned, and 5 + 3 levels of tree.
LADDER_STEP(RowSum, launch, [](std::size_t, std::size_t cols) { return ceil_div(cols, std::size_t{kBlock}) + 8; });
