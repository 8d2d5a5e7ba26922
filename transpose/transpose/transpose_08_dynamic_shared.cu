// Problem:  step 07 fixes tile and block at compile time, and gridDim.y is at most 65535: 2,097,120 rows.
// Idea:     tile and block come from the launch (extern __shared__). Tiles are numbered in gridDim.x, up to 2^31 - 1.
// Expect:   0.8 to 1.0x step 07, due to divisions: by tiles_x per thread, by a height unknown to nvcc per element.
// Measured: 0.57x step 07, 0.48x cuBLAS at 8192x8192 (H200); 0.64x, 0.59x (H100).
// Why:      68 % more instructions than step 07 (ncu), probably the divisions by the height (hypothesis).
// Next:     how large may the tile be? (48 KB; 227 KB on sm_90 after cudaFuncSetAttribute, MaxDynamicSharedMemorySize.)
#include "transpose.cuh"

__global__ void transpose_dynamic_shared(const float* __restrict__ in, float* __restrict__ out, std::size_t rows,
                                         std::size_t cols, unsigned tiles_x, int height) {
  extern __shared__ float tile[];  // [height][width + 1]
  const int width = blockDim.x, pitch = width + 1;
  const int tx = threadIdx.x, ty = threadIdx.y;
  const std::size_t col0 = std::size_t{blockIdx.x % tiles_x} * width;
  const std::size_t row0 = std::size_t{blockIdx.x / tiles_x} * height;
  // load: along the rows of the input
#pragma unroll 4
  for (int y = ty; y < height; y += blockDim.y) {
    if (row0 + y < rows && col0 + tx < cols) tile[y * pitch + tx] = in[(row0 + y) * cols + col0 + tx];
  }
  __syncthreads();
  // store: along the rows of the output, with the threads renumbered
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
  const unsigned tiles_x = ceil_div(cols, block.x);
  const unsigned tiles_y = ceil_div(rows, height);
  transpose_dynamic_shared<<<tiles_x * tiles_y, block, bytes>>>(in, out, rows, cols, tiles_x, height);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Transpose, launch);
