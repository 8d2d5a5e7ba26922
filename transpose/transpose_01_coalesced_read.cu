// The first answer: one thread moves one float. Lanes run along a row of the input, so reads are coalesced; in the
// output they run down a column, so a warp's store touches 32 sectors, each for 4 of its 32 bytes.
// Expect: a small part of a copy's speed. A sector that is not written whole is merged in L2, if the warps that write
// its other words come before it is evicted.
// Next question: one side must be strided. Why this one?
#include "transpose.cuh"

constexpr int kTile = 32;

// Blocks are numbered along the rows of tiles. A 2-D grid would end at 65535 * 32 rows, the most for gridDim.y.
__global__ void transpose_coalesced_read(const float* __restrict__ in, float* __restrict__ out, std::size_t rows,
                                         std::size_t cols, unsigned tiles_x) {
  const std::size_t col = static_cast<std::size_t>(blockIdx.x % tiles_x) * kTile + threadIdx.x;
  const std::size_t row = static_cast<std::size_t>(blockIdx.x / tiles_x) * kTile + threadIdx.y;
  if (row < rows && col < cols) out[col * rows + row] = in[row * cols + col];
}

static void launch(const float* in, float* out, std::size_t rows, std::size_t cols) {
  if (rows == 0 || cols == 0) return;  // a grid of 0 blocks is an error
  const auto tiles_x = static_cast<unsigned>(ceil_div(cols, kTile));
  const auto tiles_y = static_cast<unsigned>(ceil_div(rows, kTile));
  transpose_coalesced_read<<<tiles_x * tiles_y, dim3(kTile, kTile)>>>(in, out, rows, cols, tiles_x);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Transpose, launch);
