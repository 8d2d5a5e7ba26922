// Steps 04 to 06 have 1024 threads per block and one element per thread: a load, a barrier for all 32 warps, a store.
// Idea: 32 x 8 threads, each with 4 rows of the tile. The indices are computed once for four elements, a thread has
// four independent loads in flight before it waits, and an SM holds eight small blocks instead of two large ones, so
// that some load while others store. (The tile is the padded one again, it reads more easily.)
// Expect: the largest part of what step 05 still lacks to a copy.
// Next question: tile 32 x 32 is written into the kernel twice, as shape of the block and of the tile. Must they match?
#include "transpose.cuh"

constexpr int kTile = 32;
constexpr int kRows = 8;  // of threads; each has kTile / kRows elements

__global__ void transpose_four_rows(const float* __restrict__ in, float* __restrict__ out, std::size_t rows,
                                    std::size_t cols, unsigned tiles_x) {
  __shared__ float tile[kTile][kTile + 1];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const std::size_t col0 = static_cast<std::size_t>(blockIdx.x % tiles_x) * kTile;
  const std::size_t row0 = static_cast<std::size_t>(blockIdx.x / tiles_x) * kTile;
#pragma unroll
  for (int y = ty; y < kTile; y += kRows) {
    if (row0 + y < rows && col0 + tx < cols) tile[y][tx] = in[(row0 + y) * cols + col0 + tx];
  }
  __syncthreads();
#pragma unroll
  for (int y = ty; y < kTile; y += kRows) {
    if (col0 + y < cols && row0 + tx < rows) out[(col0 + y) * rows + row0 + tx] = tile[tx][y];
  }
}

static void launch(const float* in, float* out, std::size_t rows, std::size_t cols) {
  if (rows == 0 || cols == 0) return;
  const auto tiles_x = static_cast<unsigned>(ceil_div(cols, kTile));
  const auto tiles_y = static_cast<unsigned>(ceil_div(rows, kTile));
  transpose_four_rows<<<tiles_x * tiles_y, dim3(kTile, kRows)>>>(in, out, rows, cols, tiles_x);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Transpose, launch);
