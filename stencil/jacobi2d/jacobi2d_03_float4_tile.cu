// Problem:  steps 01 and 02 move 4 bytes per instruction, and a third of what step 02 loads is halo.
// Idea:     float4 loads and stores of global memory, float4 stores to a tile of 512 x 8 cells. A thread has 4 x 2 of
//           them, and reads their neighbours from the tile as single floats.
// Expect:   2 to 4x step 02: a quarter of the memory instructions per cell.
// Measured: 1.69x step 02, 0.58 of a copy at 8192x8192 (H200); 1.60x, 0.73 (H100).
// Why:      nvcc split each float4 store into four: twice the write sectors, and L2 at 93 % of its peak (ncu, H200).
//           Lanes read the tile 16 bytes apart: 4 wavefronts per load. 31 % of the stalls are for shared memory.
// Next:     for which of its loads from the tile does a thread need shared memory?
#include "jacobi2d.cuh"

constexpr int kBlockX = 128, kBlockY = 4;  // threads
constexpr int kRows = 2;                   // per thread
constexpr int kTileX = 4 * kBlockX, kTileY = kRows * kBlockY;
constexpr int kPad = 4;  // the tile's first column: leaves room for the halo and keeps float4 aligned

// kAligned: cols % 4 == 0 and aligned arrays; else 4-byte accesses to global memory.
template <bool kAligned>
__global__ void __launch_bounds__(kBlockX* kBlockY)
    jacobi2d_float4_tile(const float* __restrict__ in, float* __restrict__ out, long long rows, long long cols,
                         unsigned tiles_x) {
  __shared__ __align__(16) float tile[kTileY + 2][kTileX + 2 * kPad];
  const long long col0 = std::int64_t{blockIdx.x % tiles_x} * kTileX;
  const long long row0 = std::int64_t{blockIdx.x / tiles_x} * kTileY;
  const int x0 = 4 * threadIdx.x + kPad;  // this thread's columns of the tile
  const long long col = col0 + 4 * threadIdx.x;

  // load tile and halo
  for (int y = threadIdx.y; y < kTileY + 2; y += kBlockY) {
    const float* row = in + min(max(row0 + y - 1, 0LL), rows - 1) * cols;  // values from outside are not used
    if (kAligned && col < cols) *reinterpret_cast<float4*>(&tile[y][x0]) = *reinterpret_cast<const float4*>(row + col);
    if (!kAligned) {
      for (int x = 0; x < 4; ++x) tile[y][x0 + x] = row[min(col + x, cols - 1)];
    }
    if (threadIdx.x == 0) tile[y][kPad - 1] = row[max(col0 - 1, 0LL)];
    if (threadIdx.x == kBlockX - 1) tile[y][kPad + kTileX] = row[min(col0 + kTileX, cols - 1)];
  }
  __syncthreads();

  // compute and store
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    const int y = kRows * threadIdx.y + r + 1;
    const long long row = row0 + y - 1;
    if (row >= rows || col >= cols) return;
    float cell[4];
#pragma unroll
    for (int x = 0; x < 4; ++x) {
      const float* here = &tile[y][x0 + x];
      constexpr int pitch = kTileX + 2 * kPad;
      const bool border = row == 0 || row == rows - 1 || col + x == 0 || col + x >= cols - 1;
      cell[x] = border ? *here : 0.25f * (here[-1] + here[1] + here[-pitch] + here[pitch]);
      if (!kAligned && col + x < cols) out[row * cols + col + x] = cell[x];
    }
    if (kAligned) *reinterpret_cast<float4*>(out + row * cols + col) = make_float4(cell[0], cell[1], cell[2], cell[3]);
  }
}

// gridDim.y is at most 65535, here 524,280 rows, so all tiles are numbered in gridDim.x, up to 2^31 - 1.
static void launch(const float* in, float* out, std::size_t rows, std::size_t cols, std::size_t steps) {
  if (rows == 0 || cols == 0) return;
  const auto tiles_x = static_cast<unsigned>(ceil_div(cols, kTileX));
  const auto tiles_y = static_cast<unsigned>(ceil_div(rows, kTileY));
  ping_pong(in, out, rows * cols, steps, [&](const float* from, float* to) {
    const bool aligned = aligned_for<float4>(from, to) && cols % 4 == 0;
    const auto kernel = aligned ? jacobi2d_float4_tile<true> : jacobi2d_float4_tile<false>;
    kernel<<<tiles_x * tiles_y, dim3(kBlockX, kBlockY)>>>(from, to, rows, cols, tiles_x);
    CUDA_CHECK(cudaGetLastError());
  });
}

LADDER_STEP(Jacobi2d, launch);
