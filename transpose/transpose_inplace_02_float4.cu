// Step 01 starts twice the blocks it needs and moves 4 bytes per instruction. Idea: only the tiles on and above the
// diagonal get a block. Row r of that triangle has tiles - r of them; cut at half its height and folded, row r is
// filled up with a row that has just as many as are missing, and the whole is a rectangle: a division gives row and
// column. Tiles are 64 x 64, moved in float4 where n is a multiple of 4: eight of them in flight per thread, and
// __launch_bounds__(kBlock, 1) grants them the registers. __stcs: nobody reads these lines again soon.
// Expect: near a copy where n is a multiple of 4. Other n stay far from it: the tiles' edges cut sectors on both sides,
// and transpose_10's remedy, to move the border, fits one of two mirror images only.
// Next question: what happens to a tile on the diagonal? (It is written twice, with the same values: harmless.)
#include "transpose_inplace.cuh"

constexpr int kTile = 64;
constexpr int kBlock = 256;
constexpr int kLoads = kTile * kTile / 4 / kBlock;  // float4 per thread and tile
constexpr int kElements = kTile * kTile / kBlock;   // floats per thread and tile, where float4 does not fit

using Tile = float[kTile][kTile + 1];

// Where the block's tile is: number `block` of the tiles (i, j), i <= j.
static __device__ void find_tile(unsigned block, unsigned tiles, std::size_t& row0, std::size_t& col0) {
  const unsigned width = tiles | 1;  // of the rectangle: tiles, or one more if that is even
  unsigned i = block / width, j = i + block % width;
  if (j >= tiles) {
    const unsigned place = j - tiles;
    i = 2 * tiles - width - i;
    j = i + place;
  }
  row0 = static_cast<std::size_t>(i) * kTile;
  col0 = static_cast<std::size_t>(j) * kTile;
}

// n a multiple of 4, a a multiple of 16 bytes.
__global__ void __launch_bounds__(kBlock, 1) transpose_pairs_float4(float* a, std::size_t n, unsigned tiles) {
  __shared__ Tile upper, lower;
  std::size_t row0, col0;
  find_tile(blockIdx.x, tiles, row0, col0);
  const int x = threadIdx.x % 8 * 4 + threadIdx.x / 32 % 2 * 32;  // a warp: 8 float4 in each of 4 rows,
  const int y = threadIdx.x / 8 % 4 + threadIdx.x / 64 * 4;       // the block: 16 rows of 64 floats at a time
  const auto at = [=](std::size_t row, std::size_t col) { return reinterpret_cast<float4*>(&a[row * n + col]); };
  const auto keep = [](float* to, float4 v) { to[0] = v.x, to[1] = v.y, to[2] = v.z, to[3] = v.w; };

  float4 u[kLoads], l[kLoads];
#pragma unroll
  for (int k = 0; k < kLoads; ++k) {
    const int r = y + 16 * k, c = x;
    if (row0 + r < n && col0 + c < n) u[k] = *at(row0 + r, col0 + c);
    if (col0 + r < n && row0 + c < n) l[k] = *at(col0 + r, row0 + c);
  }
#pragma unroll
  for (int k = 0; k < kLoads; ++k) {
    const int r = y + 16 * k, c = x;
    keep(&upper[r][c], u[k]);
    keep(&lower[r][c], l[k]);
  }
  __syncthreads();
#pragma unroll
  for (int k = 0; k < kLoads; ++k) {
    const int r = y + 16 * k, c = x;
    const auto turned = [=](const Tile& tile) {
      return make_float4(tile[c][r], tile[c + 1][r], tile[c + 2][r], tile[c + 3][r]);
    };
    if (row0 + r < n && col0 + c < n) __stcs(at(row0 + r, col0 + c), turned(lower));
    if (col0 + r < n && row0 + c < n) __stcs(at(col0 + r, row0 + c), turned(upper));
  }
}

__global__ void __launch_bounds__(kBlock, 1) transpose_pairs_scalar(float* a, std::size_t n, unsigned tiles) {
  __shared__ Tile upper, lower;
  std::size_t row0, col0;
  find_tile(blockIdx.x, tiles, row0, col0);
  const int c = threadIdx.x % kTile, y = threadIdx.x / kTile;

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
#pragma unroll
  for (int k = 0; k < kElements; ++k) {
    const int r = y + k * (kBlock / kTile);
    if (row0 + r < n && col0 + c < n) a[(row0 + r) * n + col0 + c] = lower[c][r];
    if (col0 + r < n && row0 + c < n) a[(col0 + r) * n + row0 + c] = upper[c][r];
  }
}

static void launch(float* a, std::size_t n) {
  if (n == 0) return;
  const auto tiles = static_cast<unsigned>(ceil_div(n, kTile));
  const auto pairs = static_cast<unsigned>(static_cast<std::uint64_t>(tiles) * (tiles + 1) / 2);
  if (n % 4 == 0 && aligned_for<float4>(a)) {
    transpose_pairs_float4<<<pairs, kBlock>>>(a, n, tiles);
  } else {
    transpose_pairs_scalar<<<pairs, kBlock>>>(a, n, tiles);
  }
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(TransposeInplace, launch);
