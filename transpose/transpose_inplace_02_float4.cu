// Problem:  step 01 launches twice the blocks it needs, and moves 4 bytes per instruction.
// Idea:     blocks only for the tiles on and above the diagonal: this triangle, cut at half its height and folded, is a
//           rectangle. Tiles of 64 x 64, in float4 where n is a multiple of 4 (transpose_pairs.cuh).
// Expect:   0.85 to 1.0 of a copy where n is a multiple of 4, with eight float4 in flight per thread. Else 1.0 to 1.1x
//           step 01: the tiles' edges cut sectors, and transpose_10's shift fits only one of two mirror images.
// Measured: 1.31x step 01, 0.93 of a copy at 8192 (H200); 1.12x, 0.94 (H100).
// Next:     what would help where rows begin anywhere in a sector?
#include "transpose_pairs.cuh"

constexpr int kTile = 64;
constexpr int kBlock = 256;
constexpr int kElements = kTile * kTile / kBlock;  // floats per thread and tile

// As transpose_pairs_float4, by floats. A tile on the diagonal is stored twice, with the same values.
__global__ void __launch_bounds__(kBlock, 1) transpose_pairs_scalar(float* a, std::size_t n, unsigned tiles) {
  __shared__ float upper[kTile][kTile + 1], lower[kTile][kTile + 1];
  unsigned i, j;
  transpose_pairs::find_pair(blockIdx.x, tiles, i, j);
  const std::size_t row0 = std::size_t{i} * kTile, col0 = std::size_t{j} * kTile;
  const int c = threadIdx.x % kTile, y = threadIdx.x / kTile;

  // load both tiles
  float u[kElements] = {}, l[kElements] = {};
#pragma unroll
  for (int k = 0; k < kElements; ++k) {
    const int r = y + k * (kBlock / kTile);
    if (row0 + r < n && col0 + c < n) u[k] = a[(row0 + r) * n + col0 + c];
    if (col0 + r < n && row0 + c < n) l[k] = a[(col0 + r) * n + row0 + c];
  }
#pragma unroll
  for (int k = 0; k < kElements; ++k) {
    const int r = y + k * (kBlock / kTile);
    upper[r][c] = u[k];
    lower[r][c] = l[k];
  }
  __syncthreads();
  // store each to the other's place
#pragma unroll
  for (int k = 0; k < kElements; ++k) {
    const int r = y + k * (kBlock / kTile);
    if (row0 + r < n && col0 + c < n) a[(row0 + r) * n + col0 + c] = lower[c][r];
    if (col0 + r < n && row0 + c < n) a[(col0 + r) * n + row0 + c] = upper[c][r];
  }
}

static void launch(float* a, std::size_t n) {
  if (n == 0) return;
  if (n % 4 == 0 && aligned_for<float4>(a)) return transpose_pairs::launch_float4(a, n);
  const unsigned tiles = ceil_div(n, kTile);
  transpose_pairs_scalar<<<transpose_pairs::pairs(tiles), kBlock>>>(a, n, tiles);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(TransposeInplace, launch);
