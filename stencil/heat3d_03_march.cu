// Step 02's tile is mostly halo, and step 01 asks L2 for each plane three times. Idea, "2.5-D": a thread marches along
// z with a queue of three cells in registers: the one below, the one here, the one above. Per plane only the one above
// is new; the others move up. Each cell is a float4, 4 neighbours along x. The neighbours in the plane were loaded one
// plane ago by the threads beside, so L1 has them: no shared memory and no barrier. A march of kDepth planes loads
// kDepth + 2. Short marches are better than long ones: more blocks, and the two planes more come from L2. Rows must
// start at multiples of 16 bytes: nx % 4 == 0 and aligned arrays; else the same with 4-byte accesses.
// Expect: a copy's speed less a few per cent.
// Next question: this is what one time step costs. Must each one be read from memory and written back?
#include "heat3d.cuh"

constexpr int kBlockX = 32, kBlockY = 8;  // threads; each has 4 cells along x
constexpr int kDepth = 16;

template <bool kVector>
static __device__ float4 load4(const float* __restrict__ row, long long x, long long nx) {
  if (kVector) return *reinterpret_cast<const float4*>(row + x);
  const long long last = nx - 1;  // what lies beyond is not used
  return make_float4(row[x], row[min(x + 1, last)], row[min(x + 2, last)], row[min(x + 3, last)]);
}

template <bool kVector>
__global__ void __launch_bounds__(kBlockX* kBlockY)
    heat3d_march(const float* __restrict__ in, float* __restrict__ out, long long nx, long long ny, long long nz,
                 float c0, float c1, unsigned tiles_x, unsigned tiles_y) {
  const long long x = (static_cast<long long>(blockIdx.x % tiles_x) * kBlockX + threadIdx.x) * 4;
  const long long y = static_cast<long long>(blockIdx.x / tiles_x % tiles_y) * kBlockY + threadIdx.y;
  const long long z0 = static_cast<long long>(blockIdx.x / tiles_x / tiles_y) * kDepth;
  if (x >= nx || y >= ny) return;
  const long long plane = nx * ny;
  const float* row = in + z0 * plane + y * nx;  // of the plane here
  float* to = out + z0 * plane + y * nx + x;
  const bool border_row = y == 0 || y == ny - 1;
  const long long south = border_row ? 0 : -nx, north = border_row ? 0 : nx;  // at the border any row will do
  const long long left = max(x - 1, 0LL), right = min(x + 4, nx - 1);

  float4 here = load4<kVector>(row, x, nx);
  float4 below = z0 > 0 ? load4<kVector>(row - plane, x, nx) : here;
  const long long end = min(z0 + kDepth, nz);
#pragma unroll 2
  for (long long z = z0; z < end; ++z, row += plane, to += plane) {
    const float4 above = z + 1 < nz ? load4<kVector>(row + plane, x, nx) : here;
    const float4 s = load4<kVector>(row + south, x, nx), n = load4<kVector>(row + north, x, nx);
    const float l = row[left], r = row[right];
    float cell[4] = {c0 * here.x + c1 * (l + here.y + s.x + n.x + below.x + above.x),
                     c0 * here.y + c1 * (here.x + here.z + s.y + n.y + below.y + above.y),
                     c0 * here.z + c1 * (here.y + here.w + s.z + n.z + below.z + above.z),
                     c0 * here.w + c1 * (here.z + r + s.w + n.w + below.w + above.w)};
    const float old[4] = {here.x, here.y, here.z, here.w};
    const bool border = border_row || z == 0 || z == nz - 1;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      if (border || x + k == 0 || x + k == nx - 1) cell[k] = old[k];
      if (!kVector && x + k < nx) to[k] = cell[k];
    }
    if (kVector) *reinterpret_cast<float4*>(to) = make_float4(cell[0], cell[1], cell[2], cell[3]);
    below = here;
    here = above;
  }
}

static void launch(const float* in, float* out, std::size_t nx, std::size_t ny, std::size_t nz, std::size_t steps,
                   float c0, float c1) {
  if (nx == 0 || ny == 0 || nz == 0) return;
  const auto tiles_x = static_cast<unsigned>(ceil_div(nx, 4 * kBlockX));
  const auto tiles_y = static_cast<unsigned>(ceil_div(ny, kBlockY));
  const auto tiles_z = static_cast<unsigned>(ceil_div(nz, kDepth));
  ping_pong(in, out, nx * ny * nz, steps, [&](const float* from, float* to) {
    const bool vector = aligned_for<float4>(from, to) && nx % 4 == 0;
    const auto kernel = vector ? heat3d_march<true> : heat3d_march<false>;
    kernel<<<tiles_x * tiles_y * tiles_z, dim3(kBlockX, kBlockY)>>>(from, to, nx, ny, nz, c0, c1, tiles_x, tiles_y);
    CUDA_CHECK(cudaGetLastError());
  });
}

LADDER_STEP(Heat3d, launch);
