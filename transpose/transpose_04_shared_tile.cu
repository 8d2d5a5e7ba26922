// Steps 01 to 03 stride through global memory on one side. Idea: a block brings a 32 x 32 tile into shared memory along
// the rows, and writes it out along the rows of the output; the turn happens in shared memory. All 4 sectors of every
// global request are used. The output tile is the mirror image, so the second phase has bounds of its own: there `col`
// runs with threadIdx.y. No thread may return before the barrier.
// Expect: less than it should be, even less than step 02. Reading a column of the tile takes 32 words that lie 32 words
// apart: all in one bank, so the request takes 32 wavefronts, one after another.
// Next question: lane t reads tile[t][j], word 32 t + j. Which bank is that, and how do you spread them?
#include "transpose.cuh"

constexpr int kTile = 32;

__global__ void transpose_shared_tile(const float* __restrict__ in, float* __restrict__ out, std::size_t rows,
                                      std::size_t cols, unsigned tiles_x) {
  __shared__ float tile[kTile][kTile];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const std::size_t col0 = static_cast<std::size_t>(blockIdx.x % tiles_x) * kTile;
  const std::size_t row0 = static_cast<std::size_t>(blockIdx.x / tiles_x) * kTile;
  if (row0 + ty < rows && col0 + tx < cols) tile[ty][tx] = in[(row0 + ty) * cols + col0 + tx];
  __syncthreads();
  if (col0 + ty < cols && row0 + tx < rows) out[(col0 + ty) * rows + row0 + tx] = tile[tx][ty];
}

static void launch(const float* in, float* out, std::size_t rows, std::size_t cols) {
  if (rows == 0 || cols == 0) return;
  const auto tiles_x = static_cast<unsigned>(ceil_div(cols, kTile));
  const auto tiles_y = static_cast<unsigned>(ceil_div(rows, kTile));
  transpose_shared_tile<<<tiles_x * tiles_y, dim3(kTile, kTile)>>>(in, out, rows, cols, tiles_x);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Transpose, launch);
