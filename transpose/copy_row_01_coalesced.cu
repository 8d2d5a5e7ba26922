// The upper bound of the naive transposes: the same blocks of 32 x 32 threads, the same indices, but the output is
// written along the rows as well. Every request of a warp moves 128 bytes in a row: four 32-byte sectors, all used.
// Expect: the speed of a scalar copy; what a transpose would reach if its turn cost nothing.
// Next question: why compare with a copy, and not with the bandwidth on the data sheet? (No kernel gets that: refresh,
// row misses and the turns between reading and writing are lost for the copy too.)
#include "copy_matrix.cuh"

constexpr int kTile = 32;

// Blocks are numbered along the rows of tiles. A 2-D grid would end at 65535 * 32 rows, the most for gridDim.y.
__global__ void copy_row(const float* __restrict__ in, float* __restrict__ out, std::size_t rows, std::size_t cols,
                         unsigned tiles_x) {
  const std::size_t col = static_cast<std::size_t>(blockIdx.x % tiles_x) * kTile + threadIdx.x;
  const std::size_t row = static_cast<std::size_t>(blockIdx.x / tiles_x) * kTile + threadIdx.y;
  if (row < rows && col < cols) out[row * cols + col] = in[row * cols + col];
}

static void launch(const float* in, float* out, std::size_t rows, std::size_t cols) {
  if (rows == 0 || cols == 0) return;  // a grid of 0 blocks is an error
  const auto tiles_x = static_cast<unsigned>(ceil_div(cols, kTile));
  const auto tiles_y = static_cast<unsigned>(ceil_div(rows, kTile));
  copy_row<<<tiles_x * tiles_y, dim3(kTile, kTile)>>>(in, out, rows, cols, tiles_x);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(CopyMatrix, "copy_row", launch);
