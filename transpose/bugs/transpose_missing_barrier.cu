// bug: no barrier between filling the tile and reading it, so a thread reads what its neighbour has not stored yet
// caught by: cpu forward | is wrong
// caught by: gpu racecheck | hazard | --rows=64 --cols=64
#include "../transpose.cuh"

constexpr int kTile = 32;

__global__ void transpose_no_barrier(const float* __restrict__ in, float* __restrict__ out, std::size_t rows,
                                     std::size_t cols, unsigned tiles_x) {
  __shared__ float tile[kTile][kTile + 1];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const std::size_t col0 = static_cast<std::size_t>(blockIdx.x % tiles_x) * kTile;
  const std::size_t row0 = static_cast<std::size_t>(blockIdx.x / tiles_x) * kTile;
  if (row0 + ty < rows && col0 + tx < cols) tile[ty][tx] = in[(row0 + ty) * cols + col0 + tx];
  // __syncthreads() is needed here
  if (col0 + ty < cols && row0 + tx < rows) out[(col0 + ty) * rows + row0 + tx] = tile[tx][ty];
}

static void launch(const float* in, float* out, std::size_t rows, std::size_t cols) {
  if (rows == 0 || cols == 0) return;
  const auto tiles_x = static_cast<unsigned>(ceil_div(cols, kTile));
  const auto tiles_y = static_cast<unsigned>(ceil_div(rows, kTile));
  transpose_no_barrier<<<tiles_x * tiles_y, dim3(kTile, kTile)>>>(in, out, rows, cols, tiles_x);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Transpose, launch);
