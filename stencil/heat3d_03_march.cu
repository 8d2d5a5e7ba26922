// Step 02's tile is mostly halo, and step 01 asks L2 for each plane three times. Idea, "2.5-D": a thread marches along
// z with a queue of three cells in registers: the one behind, the one here, the one ahead. Per plane only the one ahead
// is new; the others move up. Each cell is a float4, 4 neighbours along x. The neighbours in the plane were loaded one
// plane ago by the threads beside, so L1 has them: no shared memory and no barrier. A march of kDepth planes loads
// kDepth + 2, and the two more should come from L2. So marches above each other run at the same time (z is the fastest
// index of the grid), and every other one downwards: each meets its neighbours at the planes they share. The loop is
// not unrolled: more threads in flight do better than more loads of each.
// Rows must start at multiples of 16 bytes: nx % 4 == 0 and aligned arrays; else the same with 4-byte accesses.
// Expect: a copy's speed less a few per cent.
// Next question: this is what one time step costs. Must each one be read from memory and written back?
#include "heat3d.cuh"

constexpr int kBlockX = 128, kBlockY = 2;  // threads; each has 4 cells along x
constexpr int kDepth = 8;

template <bool kVector>
static __device__ float4 load4(const float* __restrict__ row, long long x, long long nx) {
  if (kVector) return *reinterpret_cast<const float4*>(row + x);
  const long long last = nx - 1;  // what lies beyond is not used
  return make_float4(row[x], row[min(x + 1, last)], row[min(x + 2, last)], row[min(x + 3, last)]);
}

template <bool kVector>
__global__ void __launch_bounds__(kBlockX* kBlockY)
    heat3d_march(const float* __restrict__ in, float* __restrict__ out, long long nx, long long ny, long long nz,
                 float c0, float c1, unsigned tiles_x, unsigned tiles_z) {
  const unsigned tile = blockIdx.x / tiles_z, march = blockIdx.x % tiles_z;
  const long long x = (static_cast<long long>(tile % tiles_x) * kBlockX + threadIdx.x) * 4;
  const long long y = static_cast<long long>(tile / tiles_x) * kBlockY + threadIdx.y;
  const long long z0 = static_cast<long long>(march) * kDepth;
  if (x >= nx || y >= ny) return;
  const int planes = static_cast<int>(min(nz - z0, static_cast<long long>(kDepth))), dz = march % 2 == 0 ? 1 : -1;
  const long long first = dz > 0 ? z0 : z0 + planes - 1, step = dz * nx * ny;
  const bool starts_at_border = dz > 0 ? z0 == 0 : z0 + planes == nz;
  const bool ends_at_border = dz > 0 ? z0 + planes == nz : z0 == 0;
  const float* row = in + first * nx * ny + y * nx;  // of the plane here
  float* to = out + first * nx * ny + y * nx + x;
  const bool border_row = y == 0 || y == ny - 1;
  const long long south = border_row ? 0 : -nx, north = border_row ? 0 : nx;  // at the border any row will do
  const long long left = max(x - 1, 0LL), right = min(x + 4, nx - 1);

  float4 here = load4<kVector>(row, x, nx);
  float4 behind = starts_at_border ? here : load4<kVector>(row - step, x, nx);
#pragma unroll 1
  for (int i = 0; i < planes; ++i, row += step, to += step) {
    const bool at_end = i == planes - 1 && ends_at_border;
    const float4 ahead = at_end ? here : load4<kVector>(row + step, x, nx);
    const float4 s = load4<kVector>(row + south, x, nx), n = load4<kVector>(row + north, x, nx);
    const float l = row[left], r = row[right];
    float cell[4] = {c0 * here.x + c1 * (l + here.y + s.x + n.x + behind.x + ahead.x),
                     c0 * here.y + c1 * (here.x + here.z + s.y + n.y + behind.y + ahead.y),
                     c0 * here.z + c1 * (here.y + here.w + s.z + n.z + behind.z + ahead.z),
                     c0 * here.w + c1 * (here.z + r + s.w + n.w + behind.w + ahead.w)};
    const float old[4] = {here.x, here.y, here.z, here.w};
    const bool border = border_row || at_end || (i == 0 && starts_at_border);
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      if (border || x + k == 0 || x + k == nx - 1) cell[k] = old[k];
      if (!kVector && x + k < nx) to[k] = cell[k];
    }
    if (kVector) *reinterpret_cast<float4*>(to) = make_float4(cell[0], cell[1], cell[2], cell[3]);
    behind = here;
    here = ahead;
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
    kernel<<<tiles_x * tiles_y * tiles_z, dim3(kBlockX, kBlockY)>>>(from, to, nx, ny, nz, c0, c1, tiles_x, tiles_z);
    CUDA_CHECK(cudaGetLastError());
  });
}

LADDER_STEP(Heat3d, launch);
