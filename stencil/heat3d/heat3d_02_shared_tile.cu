// Problem:  step 01 loads each cell seven times.
// Idea:     a tile of 32 x 4 x 4 cells with a halo of one on all six sides, in shared memory.
// Expect:   0.4 to 0.8x step 01: a 3D tile is mostly surface: 34 x 6 x 6 loads for 32 x 4 x 4 cells are 2.4 per cell.
//           L1 serves step 01's reuse without a halo.
// Measured: 0.38x step 01, 0.17 of a copy at 512 (H200); 0.40x, 0.24 (H100).
// Why:      ncu: 2.8 times step 01's instructions, and L2 serves 28 % more, since the halo's loads miss L1. 34
//           registers leave 3 blocks per SM; 32 would leave 4 (not tested).
// Next:     how can a tile of two dimensions be enough?
#include "heat3d.cuh"

constexpr int kTileX = 32, kTileY = 4, kTileZ = 4;

__global__ void heat3d_shared_tile(const float* __restrict__ in, float* __restrict__ out, long long nx, long long ny,
                                   long long nz, float c0, float c1) {
  constexpr int kLoadX = kTileX + 2, kLoadY = kTileY + 2, kLoadZ = kTileZ + 2;
  __shared__ float tile[kLoadZ][kLoadY][kLoadX];
  const int tx = threadIdx.x, ty = threadIdx.y, tz = threadIdx.z;
  const long long x0 = blockIdx.x * kTileX, y0 = blockIdx.y * kTileY, z0 = blockIdx.z * kTileZ;

  // load tile and halo
  for (int i = (tz * kTileY + ty) * kTileX + tx; i < kLoadX * kLoadY * kLoadZ; i += kTileX * kTileY * kTileZ) {
    const int lx = i % kLoadX, ly = i / kLoadX % kLoadY, lz = i / (kLoadX * kLoadY);
    const long long x = x0 + lx - 1, y = y0 + ly - 1, z = z0 + lz - 1;
    const bool inside = x >= 0 && x < nx && y >= 0 && y < ny && z >= 0 && z < nz;
    tile[lz][ly][lx] = inside ? in[(z * ny + y) * nx + x] : 0.0f;
  }
  __syncthreads();
  const long long x = x0 + tx, y = y0 + ty, z = z0 + tz;
  if (x >= nx || y >= ny || z >= nz) return;

  // compute and store
  const bool border = x == 0 || x == nx - 1 || y == 0 || y == ny - 1 || z == 0 || z == nz - 1;
  float cell = tile[tz + 1][ty + 1][tx + 1];
  if (!border) {
    cell = c0 * cell + c1 * (tile[tz + 1][ty + 1][tx] + tile[tz + 1][ty + 1][tx + 2] + tile[tz + 1][ty][tx + 1] +
                             tile[tz + 1][ty + 2][tx + 1] + tile[tz][ty + 1][tx + 1] + tile[tz + 2][ty + 1][tx + 1]);
  }
  out[(z * ny + y) * nx + x] = cell;
}

static void launch(const float* in, float* out, std::size_t nx, std::size_t ny, std::size_t nz, std::size_t steps,
                   float c0, float c1) {
  if (nx == 0 || ny == 0 || nz == 0) return;
  const dim3 block(kTileX, kTileY, kTileZ), grid(ceil_div(nx, kTileX), ceil_div(ny, kTileY), ceil_div(nz, kTileZ));
  ping_pong(in, out, nx * ny * nz, steps, [&](const float* from, float* to) {
    heat3d_shared_tile<<<grid, block>>>(from, to, nx, ny, nz, c0, c1);
    CUDA_CHECK(cudaGetLastError());
  });
}

LADDER_STEP(Heat3d, launch, kTileY, kTileZ);
