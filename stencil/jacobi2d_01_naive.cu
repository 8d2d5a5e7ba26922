// The first answer: a thread per cell, a launch per time step, and two buffers. In place would be wrong: a cell would
// meet neighbours that have been updated already, or not, as it happens.
// Expect: near a copy with 4-byte loads. L1 and L2 answer most of the four loads.
// Next question: which synchronisation makes sure that a time step is complete before the next begins? (The end of the
// kernel. There is no barrier for a grid within it, short of a cooperative launch.)
#include "jacobi2d.cuh"

constexpr int kTileX = 32, kTileY = 8;

// Tiles are numbered along the rows. A 2-D grid would end at 65535 of them downwards, the most for gridDim.y.
__global__ void jacobi2d_naive(const float* __restrict__ in, float* __restrict__ out, long long rows, long long cols,
                               unsigned tiles_x) {
  const long long row = static_cast<long long>(blockIdx.x / tiles_x) * kTileY + threadIdx.y;
  const long long col = static_cast<long long>(blockIdx.x % tiles_x) * kTileX + threadIdx.x;
  if (row >= rows || col >= cols) return;
  const long long i = row * cols + col;
  const bool border = row == 0 || row == rows - 1 || col == 0 || col == cols - 1;
  out[i] = border ? in[i] : 0.25f * (in[i - 1] + in[i + 1] + in[i - cols] + in[i + cols]);
}

static void launch(const float* in, float* out, std::size_t rows, std::size_t cols, std::size_t steps) {
  if (rows == 0 || cols == 0) return;  // a grid of 0 blocks is an error
  const auto tiles_x = static_cast<unsigned>(ceil_div(cols, kTileX));
  const auto tiles_y = static_cast<unsigned>(ceil_div(rows, kTileY));
  ping_pong(in, out, rows * cols, steps, [&](const float* from, float* to) {
    jacobi2d_naive<<<tiles_x * tiles_y, dim3(kTileX, kTileY)>>>(from, to, rows, cols, tiles_x);
    CUDA_CHECK(cudaGetLastError());
  });
}

LADDER_STEP(Jacobi2d, launch);
