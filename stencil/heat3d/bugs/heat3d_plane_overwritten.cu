// bug: one plane in shared memory, one barrier per plane: a fast warp stores the next plane while a slow one reads this
// caught by: cpu forward | is wrong
// caught by: cpu-trace | shared memory with no barrier between
// caught by: gpu racecheck | hazard | --nx=64 --ny=32 --nz=8
// stage: races and barriers
#include "../heat3d.cuh"

constexpr int kTileX = 32, kTileY = 8;

__global__ void heat3d_plane_overwritten(const float* __restrict__ in, float* __restrict__ out, long long nx,
                                         long long ny, long long nz, float c0, float c1, unsigned tiles_x) {
  __shared__ float tile[kTileY + 2][kTileX + 2];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const long long x0 = std::int64_t{blockIdx.x % tiles_x} * kTileX, x = x0 + tx;
  const long long y0 = std::int64_t{blockIdx.x / tiles_x} * kTileY, y = y0 + ty;
  for (long long z = 0; z < nz; ++z) {
    for (int j = ty; j < kTileY + 2; j += kTileY) {
      for (int i = tx; i < kTileX + 2; i += kTileX) {
        const long long u = x0 + i - 1, v = y0 + j - 1;
        tile[j][i] = u >= 0 && u < nx && v >= 0 && v < ny ? in[(z * ny + v) * nx + u] : 0.0f;
      }
    }
    __syncthreads();
    if (x < nx && y < ny) {
      const bool border = x == 0 || x == nx - 1 || y == 0 || y == ny - 1 || z == 0 || z == nz - 1;
      const long long at = (z * ny + y) * nx + x;
      float cell = tile[ty + 1][tx + 1];
      if (!border) {
        const float around = tile[ty + 1][tx] + tile[ty + 1][tx + 2] + tile[ty][tx + 1] + tile[ty + 2][tx + 1];
        cell = c0 * cell + c1 * (around + in[at - nx * ny] + in[at + nx * ny]);
      }
      out[at] = cell;
    }
    // __syncthreads() is needed here too
  }
}

static void launch(const float* in, float* out, std::size_t nx, std::size_t ny, std::size_t nz, std::size_t steps,
                   float c0, float c1) {
  if (nx == 0 || ny == 0 || nz == 0) return;
  const auto tiles_x = static_cast<unsigned>(ceil_div(nx, kTileX));
  const auto tiles_y = static_cast<unsigned>(ceil_div(ny, kTileY));
  ping_pong(in, out, nx * ny * nz, steps, [&](const float* from, float* to) {
    heat3d_plane_overwritten<<<tiles_x * tiles_y, dim3(kTileX, kTileY)>>>(from, to, nx, ny, nz, c0, c1, tiles_x);
    CUDA_CHECK(cudaGetLastError());
  });
}

LADDER_STEP(Heat3d, launch);
