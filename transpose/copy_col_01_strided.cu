// The lower bound of the naive transposes: neighbouring lanes take neighbouring rows, so every request, load and store,
// touches 32 places a whole row apart: 32 sectors of 32 bytes for 128 useful bytes.
// Expect: a fraction of copy_row. How large a fraction says how much of the waste the caches win back: the other 28
// bytes of a sector are wanted by the warps next door, a little later.
// Next question: strided reads or strided writes, which hurt more? (transpose_01 and transpose_02 have one each.)
#include "copy_matrix.cuh"

constexpr int kTile = 32;

__global__ void copy_col(const float* __restrict__ in, float* __restrict__ out, std::size_t rows, std::size_t cols,
                         unsigned tiles_x) {
  const std::size_t col = static_cast<std::size_t>(blockIdx.x % tiles_x) * kTile + threadIdx.y;
  const std::size_t row = static_cast<std::size_t>(blockIdx.x / tiles_x) * kTile + threadIdx.x;
  if (row < rows && col < cols) out[row * cols + col] = in[row * cols + col];
}

static void launch(const float* in, float* out, std::size_t rows, std::size_t cols) {
  if (rows == 0 || cols == 0) return;
  const auto tiles_x = static_cast<unsigned>(ceil_div(cols, kTile));
  const auto tiles_y = static_cast<unsigned>(ceil_div(rows, kTile));
  copy_col<<<tiles_x * tiles_y, dim3(kTile, kTile)>>>(in, out, rows, cols, tiles_x);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(CopyMatrix, "copy_col", launch);
