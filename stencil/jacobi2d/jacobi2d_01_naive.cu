// Problem:  the mean of 4 neighbours: 4 FLOP for 8 bytes to and from DRAM, so memory bandwidth is the limit.
// Idea:     one thread per cell, one launch per time step, two buffers. Working in place is a data race.
// Expect:   0.6 to 0.8 of a copy, like a copy of 4-byte words: L1 and L2 serve three of the four loads.
// Measured: 0.53 of a copy at 8192x8192 (H200); 0.68 (H100).
// Why:      issue slots, L1 or latency are the limit, not DRAM: with 1.43x the bandwidth the H200 gains 1.10x.
// Next:     what makes sure that a time step is complete before the next one begins?
#include "jacobi2d.cuh"

constexpr int kTileX = 32, kTileY = 8;

__global__ void jacobi2d_naive(const float* __restrict__ in, float* __restrict__ out, long long rows, long long cols) {
  // 32-bit products, widened afterwards: they don't overflow, because rows and cols are at most 2^31.
  const long long row = blockIdx.y * kTileY + threadIdx.y;
  const long long col = blockIdx.x * kTileX + threadIdx.x;
  if (row >= rows || col >= cols) return;
  const long long i = row * cols + col;
  const bool border = row == 0 || row == rows - 1 || col == 0 || col == cols - 1;
  out[i] = border ? in[i] : 0.25f * (in[i - 1] + in[i + 1] + in[i - cols] + in[i + cols]);
}

static void launch(const float* in, float* out, std::size_t rows, std::size_t cols, std::size_t steps) {
  if (rows == 0 || cols == 0) return;  // a grid of 0 blocks is an error
  const dim3 block(kTileX, kTileY), grid(ceil_div(cols, kTileX), ceil_div(rows, kTileY));
  ping_pong(in, out, rows * cols, steps, [&](const float* from, float* to) {
    jacobi2d_naive<<<grid, block>>>(from, to, rows, cols);
    CUDA_CHECK(cudaGetLastError());
  });
}

LADDER_STEP(Jacobi2d, launch, "rows", kTileY);
