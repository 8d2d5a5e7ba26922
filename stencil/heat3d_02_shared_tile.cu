// Step 01 loads each cell seven times. Idea: a tile of 32 x 4 x 4 cells with a halo of one on all six sides, in shared
// memory. Count the halo first: 34 x 6 x 6 cells for 32 x 4 x 4 are 2.4 loads per cell, and 16 x 8 x 8 would be 1.8.
// A tile in three dimensions is mostly surface.
// Expect: a loss against step 01, whose reuse L1 catches without a halo.
// Next question: how to have a tile of two dimensions only? (March along the third.)
#include "heat3d.cuh"

constexpr int kTileX = 32, kTileY = 4, kTileZ = 4;

__global__ void heat3d_shared_tile(const float* __restrict__ in, float* __restrict__ out, long long nx, long long ny,
                                   long long nz, float c0, float c1, unsigned tiles_x, unsigned tiles_y) {
  __shared__ float tile[(kTileZ + 2) * (kTileY + 2) * (kTileX + 2)];
  const int tx = threadIdx.x, ty = threadIdx.y, tz = threadIdx.z;
  const long long x0 = static_cast<long long>(blockIdx.x % tiles_x) * kTileX;
  const long long y0 = static_cast<long long>(blockIdx.x / tiles_x % tiles_y) * kTileY;
  const long long z0 = static_cast<long long>(blockIdx.x / tiles_x / tiles_y) * kTileZ;
  constexpr int row = kTileX + 2, plane = (kTileY + 2) * row;
  for (int i = (tz * kTileY + ty) * kTileX + tx; i < (kTileZ + 2) * plane; i += kTileX * kTileY * kTileZ) {
    const long long x = x0 + i % row - 1, y = y0 + i / row % (kTileY + 2) - 1, z = z0 + i / plane - 1;
    const bool inside = x >= 0 && x < nx && y >= 0 && y < ny && z >= 0 && z < nz;
    tile[i] = inside ? in[(z * ny + y) * nx + x] : 0.0f;
  }
  __syncthreads();
  const long long x = x0 + tx, y = y0 + ty, z = z0 + tz;
  if (x >= nx || y >= ny || z >= nz) return;
  const bool border = x == 0 || x == nx - 1 || y == 0 || y == ny - 1 || z == 0 || z == nz - 1;
  const float* here = &tile[(tz + 1) * plane + (ty + 1) * row + tx + 1];
  float cell = *here;
  if (!border) {
    cell = c0 * cell + c1 * (here[-1] + here[1] + here[-row] + here[row] + here[-plane] + here[plane]);
  }
  out[(z * ny + y) * nx + x] = cell;
}

static void launch(const float* in, float* out, std::size_t nx, std::size_t ny, std::size_t nz, std::size_t steps,
                   float c0, float c1) {
  if (nx == 0 || ny == 0 || nz == 0) return;
  const auto tiles_x = static_cast<unsigned>(ceil_div(nx, kTileX));
  const auto tiles_y = static_cast<unsigned>(ceil_div(ny, kTileY));
  const auto tiles_z = static_cast<unsigned>(ceil_div(nz, kTileZ));
  ping_pong(in, out, nx * ny * nz, steps, [&](const float* from, float* to) {
    heat3d_shared_tile<<<tiles_x * tiles_y * tiles_z, dim3(kTileX, kTileY, kTileZ)>>>(from, to, nx, ny, nz, c0, c1,
                                                                                      tiles_x, tiles_y);
    CUDA_CHECK(cudaGetLastError());
  });
}

LADDER_STEP(Heat3d, launch);
