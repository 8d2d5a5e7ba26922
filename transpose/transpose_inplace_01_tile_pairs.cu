// Without a second matrix, whoever writes an element must first save what is there. Idea: tiles swap places in pairs. A
// block reads tile (i, j) and its mirror image (j, i) into shared memory, and after the barrier, when both are safe,
// writes each to the other's place, turned. Blocks below the diagonal have nothing to do; a tile on it is its own pair.
// Expect: a good part of a copy's speed; half of the blocks end at once, and cost only their launch.
// Next question: a 5 x 7 matrix in place? (The elements move in cycles of unequal length; there are no pairs.)
#include "transpose_inplace.cuh"

constexpr int kTile = 32;
constexpr int kRows = 8;  // of threads; each has kTile / kRows elements of each tile

__global__ void transpose_tile_pairs(float* a, std::size_t n, unsigned tiles) {
  __shared__ float upper[kTile][kTile + 1], lower[kTile][kTile + 1];
  const unsigned i = blockIdx.x / tiles, j = blockIdx.x % tiles;
  if (i > j) return;  // the whole block
  const int tx = threadIdx.x, ty = threadIdx.y;
  const std::size_t row0 = static_cast<std::size_t>(i) * kTile, col0 = static_cast<std::size_t>(j) * kTile;
#pragma unroll
  for (int y = ty; y < kTile; y += kRows) {
    if (row0 + y < n && col0 + tx < n) upper[y][tx] = a[(row0 + y) * n + col0 + tx];
    if (col0 + y < n && row0 + tx < n) lower[y][tx] = a[(col0 + y) * n + row0 + tx];
  }
  __syncthreads();
#pragma unroll
  for (int y = ty; y < kTile; y += kRows) {
    if (col0 + y < n && row0 + tx < n) a[(col0 + y) * n + row0 + tx] = upper[tx][y];
    if (i != j && row0 + y < n && col0 + tx < n) a[(row0 + y) * n + col0 + tx] = lower[tx][y];
  }
}

static void launch(float* a, std::size_t n) {
  if (n == 0) return;
  const auto tiles = static_cast<unsigned>(ceil_div(n, kTile));
  transpose_tile_pairs<<<tiles * tiles, dim3(kTile, kRows)>>>(a, n, tiles);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(TransposeInplace, launch);
