// Problem:  step 02 adds a long row in one warp, with 4-byte loads.
// Idea:     one block per row, with float4 if all rows are 16-byte aligned: x is aligned and cols is a multiple of 4.
// Expect:   0.95 to 1.0 of bandwidth for rows of a few thousand. Rows of 128 leave threads idle, 64 rows leave SMs
//           idle.
// Measured: 1.05x step 02, 1.00x CUB at 16384x4096 (H200); 1.04x, 1.00x (H100).
// Next:     what decides between warp and block? (Enough rows to fill the GPU; enough elements to fill the group.)
#include "block_reduce.cuh"
#include "row_sum.cuh"

constexpr int kBlock = 256;

__global__ void row_sum_block_per_row(const float* __restrict__ x, float* __restrict__ out, std::size_t cols,
                                      bool aligned) {
  const int tid = threadIdx.x;
  // load: float4, then the tail, or the whole row if it is not aligned
  const float* row = x + blockIdx.x * cols;
  const float4* row4 = reinterpret_cast<const float4*>(row);
  const std::size_t n4 = aligned ? cols / 4 : 0;
  float sum = 0.0f;
  for (std::size_t c = tid; c < n4; c += kBlock) {
    const float4 v = row4[c];
    sum += (v.x + v.y) + (v.z + v.w);
  }
  for (std::size_t c = 4 * n4 + tid; c < cols; c += kBlock) sum += row[c];

  // reduce within the block, store
  sum = block_sum_to_thread_0<kBlock>(sum);
  if (tid == 0) out[blockIdx.x] = sum;
}

static void launch(const float* x, float* out, std::size_t rows, std::size_t cols) {
  if (rows == 0) return;
  const bool aligned = aligned_for<float4>(x) && cols % 4 == 0;
  row_sum_block_per_row<<<static_cast<unsigned>(rows), kBlock>>>(x, out, cols, aligned);
  CUDA_CHECK(cudaGetLastError());
}

// The chain of a thread, longest if the rows are not aligned, and 5 + 3 levels of tree.
LADDER_STEP(RowSum, launch, [](std::size_t, std::size_t cols) { return ceil_div(cols, std::size_t{kBlock}) + 8; });
