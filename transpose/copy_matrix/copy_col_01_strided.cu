// Problem:  how slow would a naive transpose be if both sides were strided?
// Idea:     neighbouring lanes take neighbouring rows: 32 sectors per load and per store, for 128 useful bytes.
// Expect:   0.1 to 0.25 of a copy: the rest of a sector serves neighbouring warps if a cache still holds it.
// Measured: 0.12 of a copy at 8192x8192 (H200); 0.16 (H100).
// Next:     strided loads or strided stores, which cost more? (transpose_02 and transpose_01 have one each.)
#include "copy_matrix.cuh"

constexpr int kTile = 32;

__global__ void copy_col(const float* __restrict__ in, float* __restrict__ out, std::size_t rows, std::size_t cols) {
  const std::size_t col = std::size_t{blockIdx.x} * kTile + threadIdx.y;
  const std::size_t row = std::size_t{blockIdx.y} * kTile + threadIdx.x;
  if (row < rows && col < cols) out[row * cols + col] = in[row * cols + col];
}

static void launch(const float* in, float* out, std::size_t rows, std::size_t cols) {
  if (rows == 0 || cols == 0) return;
  const dim3 block(kTile, kTile), grid(ceil_div(cols, kTile), ceil_div(rows, kTile));
  copy_col<<<grid, block>>>(in, out, rows, cols);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(CopyMatrix, "copy_col", launch, kTile);
