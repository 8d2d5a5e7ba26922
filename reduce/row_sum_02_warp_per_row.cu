// Step 01's lanes read far apart. Idea: a warp for each row. Its lanes read neighbours, add up every 32nd element each,
// and five shuffles add up the lanes. No shared memory, no barrier.
// Expect: an order of magnitude for rows of some thousand; rows of 128 give each lane four elements, and the five
// shuffles then count.
// Next question: may a warp past the last row return before the shuffles? (Here, yes: it leaves as a whole. If a warp
// held several rows, lanes that others read from might be gone, and what these get then is undefined.)
#include "row_sum.cuh"

constexpr int kBlock = 256;

__global__ void row_sum_warp_per_row(const float* __restrict__ x, float* __restrict__ out, std::size_t rows,
                                     std::size_t cols) {
  const unsigned lane = threadIdx.x % 32;
  const std::size_t row = static_cast<std::size_t>(blockIdx.x) * (kBlock / 32) + threadIdx.x / 32;
  if (row >= rows) return;
  float sum = 0.0f;
  for (std::size_t c = lane; c < cols; c += 32) sum += x[row * cols + c];
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(0xffffffff, sum, offset);
  if (lane == 0) out[row] = sum;
}

static void launch(const float* x, float* out, std::size_t rows, std::size_t cols) {
  if (rows == 0) return;
  row_sum_warp_per_row<<<static_cast<unsigned>(ceil_div(rows, kBlock / 32)), kBlock>>>(x, out, rows, cols);
  CUDA_CHECK(cudaGetLastError());
}

// A lane's chain, and five levels of tree.
LADDER_STEP(RowSum, launch, [](std::size_t, std::size_t cols) { return ceil_div(cols, std::size_t{32}) + 5; });
