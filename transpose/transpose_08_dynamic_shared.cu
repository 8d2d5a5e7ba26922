// Step 07 fixes tile and block at compile time, and both are square or nearly so. Idea: take them from the launch. The
// tile is blockDim.x columns wide and `height` rows high, its size in bytes is the launch's third argument, and
// `extern __shared__` has no size of its own, so the 2-D index is written out with the pitch. Where tile and block are
// rectangular, (tx, ty) no longer fits the output: the second phase numbers the threads anew, along the output's rows.
// Expect: no gain by itself; the shape, 64 x 32 here, can now be tried out without compiling. Reading 64 columns at
// once halves the number of row pieces; divisions by a height that the compiler does not know eat it up.
// Next question: how large may the tile be? (48 KB; beyond that, up to 227 KB on an H100, only after
// cudaFuncSetAttribute with cudaFuncAttributeMaxDynamicSharedMemorySize.)
#include "transpose.cuh"

__global__ void transpose_dynamic_shared(const float* __restrict__ in, float* __restrict__ out, std::size_t rows,
                                         std::size_t cols, unsigned tiles_x, int height) {
  extern __shared__ float tile[];  // [height][width + 1]
  const int width = blockDim.x, pitch = width + 1;
  const int tx = threadIdx.x, ty = threadIdx.y;
  const std::size_t col0 = static_cast<std::size_t>(blockIdx.x % tiles_x) * width;
  const std::size_t row0 = static_cast<std::size_t>(blockIdx.x / tiles_x) * height;
#pragma unroll 4
  for (int y = ty; y < height; y += blockDim.y) {
    if (row0 + y < rows && col0 + tx < cols) tile[y * pitch + tx] = in[(row0 + y) * cols + col0 + tx];
  }
  __syncthreads();
  const int thread = ty * width + tx, threads = width * blockDim.y;
#pragma unroll 4
  for (int i = thread; i < width * height; i += threads) {
    const int x = i % height, y = i / height;
    if (col0 + y < cols && row0 + x < rows) out[(col0 + y) * rows + row0 + x] = tile[x * pitch + y];
  }
}

static void launch(const float* in, float* out, std::size_t rows, std::size_t cols) {
  if (rows == 0 || cols == 0) return;
  const dim3 block(64, 8);
  const int height = 32;
  const std::size_t bytes = height * (block.x + 1) * sizeof(float);
  const auto tiles_x = static_cast<unsigned>(ceil_div(cols, block.x));
  const auto tiles_y = static_cast<unsigned>(ceil_div(rows, height));
  transpose_dynamic_shared<<<tiles_x * tiles_y, block, bytes>>>(in, out, rows, cols, tiles_x, height);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Transpose, launch);
