// The first answer: a thread per cell, a launch per time step, and two buffers. Seven loads per cell, five of which hit
// L1 or L2: neighbours along x are in the same lines, those along y were loaded by the same block, but those along z
// are a plane away, and come from L2 if three planes fit there.
// Expect: below a copy with 4-byte loads.
// Next question: 8 operations for 8 bytes, once in and once out. What is the limit? (Memory: an H100 can do 20 per
// byte.)
#include "heat3d.cuh"

constexpr int kTileX = 32, kTileY = 4, kTileZ = 4;

// Tiles are numbered in gridDim.x, along x, then y, then z: gridDim.z ends at 65535.
__global__ void heat3d_naive(const float* __restrict__ in, float* __restrict__ out, long long nx, long long ny,
                             long long nz, float c0, float c1, unsigned tiles_x, unsigned tiles_y) {
  const long long x = static_cast<long long>(blockIdx.x % tiles_x) * kTileX + threadIdx.x;
  const long long y = static_cast<long long>(blockIdx.x / tiles_x % tiles_y) * kTileY + threadIdx.y;
  const long long z = static_cast<long long>(blockIdx.x / tiles_x / tiles_y) * kTileZ + threadIdx.z;
  if (x >= nx || y >= ny || z >= nz) return;
  const long long plane = nx * ny, i = z * plane + y * nx + x;
  const bool border = x == 0 || x == nx - 1 || y == 0 || y == ny - 1 || z == 0 || z == nz - 1;
  float cell = in[i];
  if (!border) {
    cell = c0 * cell + c1 * (in[i - 1] + in[i + 1] + in[i - nx] + in[i + nx] + in[i - plane] + in[i + plane]);
  }
  out[i] = cell;
}

static void launch(const float* in, float* out, std::size_t nx, std::size_t ny, std::size_t nz, std::size_t steps,
                   float c0, float c1) {
  if (nx == 0 || ny == 0 || nz == 0) return;  // a grid of 0 blocks is an error
  const auto tiles_x = static_cast<unsigned>(ceil_div(nx, kTileX));
  const auto tiles_y = static_cast<unsigned>(ceil_div(ny, kTileY));
  const auto tiles_z = static_cast<unsigned>(ceil_div(nz, kTileZ));
  ping_pong(in, out, nx * ny * nz, steps, [&](const float* from, float* to) {
    heat3d_naive<<<tiles_x * tiles_y * tiles_z, dim3(kTileX, kTileY, kTileZ)>>>(from, to, nx, ny, nz, c0, c1, tiles_x,
                                                                                tiles_y);
    CUDA_CHECK(cudaGetLastError());
  });
}

LADDER_STEP(Heat3d, launch);
