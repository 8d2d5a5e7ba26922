// Problem:  which block shape? The size decides how many warps an SM holds, the width which floats a warp touches.
// Idea:     one kernel, launched with blocks of any shape, which prints the occupancy that
//           cudaOccupancyMaxActiveBlocksPerMultiprocessor computes.
// Expect:   256 threads: 0.64 of a copy, like copy_01. 32 threads: 0.7x that, as 32 blocks per SM fill 32 of 64 warps.
//           64 and more threads: like 256. 1 x 32: 0.2 to 0.4x, with 32 sectors per request.
// Measured: 0.59 of a copy at 32x8 (H200); 0.75 (H100).
// Why:      at most 1.65 blocks start per ns (H200). Blocks of 32 threads reach 0.17x of 256, 64 reach 0.34x and 128
//           reach 0.67x, however many sectors they touch. Only 1 x 32 is slower still.
// Next:     what if a thread needs 128 registers?
#include "block_shape.cuh"

__global__ void block_shape(const float* __restrict__ x, float* __restrict__ y, std::size_t rows, std::size_t cols) {
  const std::size_t col = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const std::size_t row = std::size_t{blockIdx.y} * blockDim.y + threadIdx.y;
  if (row < rows && col < cols) y[row * cols + col] = 2 * x[row * cols + col];
}

static double occupancy(std::size_t threads) {
  int blocks = 0;
  CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, block_shape, static_cast<int>(threads), 0));
  const std::size_t warps = ceil_div(threads, 32), most = device_attribute(cudaDevAttrMaxThreadsPerMultiProcessor) / 32;
  return static_cast<double>(blocks * warps) / static_cast<double>(most);
}

static void launch(const float* x, float* y, std::size_t rows, std::size_t cols, std::size_t width,
                   std::size_t height) {
  if (rows == 0 || cols == 0) return;  // a grid of 0 blocks is an error
  const dim3 block(width, height);
  const dim3 grid(ceil_div(cols, width), ceil_div(rows, height));
  block_shape<<<grid, block>>>(x, y, rows, cols);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(BlockShape, launch, occupancy);
