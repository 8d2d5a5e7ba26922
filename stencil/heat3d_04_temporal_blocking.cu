// Problem:  step 03 is close to a copy, and one time step per launch cannot read and write less.
// Idea:     two time steps per pass: behind the plane being loaded the march computes plane z after one step, and plane
//           z - 1 after two. Three planes per level in registers; the middle ones in shared memory for other warps.
// Expect:   1.3 to 1.8x step 03: half the DRAM traffic; but the halo costs 1.28x the loads (120 x 20 of 128 x 24 cells
//           are stored), and there are two barriers per plane and fewer threads per SM.
// Measured: 1.29x step 03, 1.09 of a copy at 512 (H200); 1.60x, 1.49 (H100).
// Why:      0.8x or less at 256^3: 78 blocks for 132 SMs. 1.29x on the H200 at 512^3, 1.60x on the H100: 4627 and 4494
//           GB/s, so DRAM is not the limit here; step 03's time is what shrank.
// Next:     why does this pay although the halo costs 28 %?
#include "heat3d.cuh"
#include "float4_row.cuh"

constexpr int kWarps = 12, kRows = 2;                 // a warp has 128 cells along x and kRows rows
constexpr int kTileY = kWarps * kRows;                // rows that are loaded
constexpr int kStoredX = 120, kStoredY = kTileY - 4;  // without the halo: one float4, two rows at either side
constexpr int kDepth = 128;                           // planes of a march
constexpr unsigned kAll = 0xffffffff;

// One time step of 4 cells; those at the border, a bit each in `keep`, keep their value.
static __device__ float4 step4(float4 here, float4 south, float4 north, float4 below, float4 above, float c0, float c1,
                               unsigned keep) {
  const float l = __shfl_up_sync(kAll, here.w, 1), r = __shfl_down_sync(kAll, here.x, 1);
  float4 v = make_float4(c0 * here.x + c1 * (l + here.y + south.x + north.x + below.x + above.x),
                         c0 * here.y + c1 * (here.x + here.z + south.y + north.y + below.y + above.y),
                         c0 * here.z + c1 * (here.y + here.w + south.z + north.z + below.z + above.z),
                         c0 * here.w + c1 * (here.z + r + south.w + north.w + below.w + above.w));
  if (keep & 1) v.x = here.x;
  if (keep & 2) v.y = here.y;
  if (keep & 4) v.z = here.z;
  if (keep & 8) v.w = here.w;
  return v;
}

// kSteps, 1 or 2, time steps per pass. No thread returns early: the barriers and shuffles need them all.
// kAligned: nx % 4 == 0 and aligned arrays; else 4-byte accesses.
template <int kSteps, bool kAligned>
__global__ void __launch_bounds__(32 * kWarps)
    heat3d_temporal_blocking(const float* __restrict__ in, float* __restrict__ out, long long nx, long long ny,
                             long long nz, float c0, float c1, unsigned tiles_x, unsigned tiles_y) {
  __shared__ float4 tile[2][kTileY][32];
  const int lane = threadIdx.x, first = threadIdx.y * kRows;  // of this thread's rows of the tile
  const long long x = std::int64_t{blockIdx.x % tiles_x} * kStoredX - 4 + 4 * lane;
  const long long y = std::int64_t{blockIdx.x / tiles_x % tiles_y} * kStoredY - 2 + first;
  const long long z0 = std::int64_t{blockIdx.x / tiles_x / tiles_y} * kDepth, end = min(z0 + kDepth, nz);
  unsigned keep_x = 0;
#pragma unroll
  for (int k = 0; k < 4; ++k) keep_x |= (x + k <= 0 || x + k >= nx - 1) << k;
  const auto load = [&](long long z, int j) {
    const bool inside = z >= 0 && z < nz && y + j >= 0 && y + j < ny;
    return inside ? load4<kAligned>(in + (z * ny + y + j) * nx, x, nx) : make_float4(0, 0, 0, 0);
  };

  // prologue: register queues. Planes z - 1, z and z + 1 before the first time step (below, here, above), planes z - 2
  // and z - 1 after it (once_below, once_here).
  float4 below[kRows], here[kRows], above[kRows], once_below[kRows] = {}, once_here[kRows] = {};
#pragma unroll
  for (int j = 0; j < kRows; ++j) {
    below[j] = load(z0 - kSteps, j), here[j] = load(z0 - kSteps + 1, j), above[j] = load(z0 - kSteps + 2, j);
  }

  // main loop: one plane each time
  for (long long z = z0 - kSteps + 1; z < end + kSteps - 1; ++z) {
    // load: plane z + 2, one plane before its use
    float4 ahead[kRows];
#pragma unroll
    for (int j = 0; j < kRows; ++j) ahead[j] = load(z + 2, j);

    // exchange: the middle planes go to shared memory, for the warps with the rows next to this one
    __syncthreads();  // all warps have read the previous planes
#pragma unroll
    for (int j = 0; j < kRows; ++j) tile[0][first + j][lane] = here[j], tile[1][first + j][lane] = once_here[j];
    __syncthreads();

    // compute and store. At the tile's edge the rows before and behind are wrong, and so not stored.
    const int before = max(first - 1, 0), behind = min(first + kRows, kTileY - 1);
#pragma unroll
    for (int j = 0; j < kRows; ++j) {
      const bool border_row = y + j <= 0 || y + j >= ny - 1;
      const float4 south = j > 0 ? here[max(j - 1, 0)] : tile[0][before][lane];
      const float4 north = j + 1 < kRows ? here[min(j + 1, kRows - 1)] : tile[0][behind][lane];
      const unsigned keep = border_row || z <= 0 || z >= nz - 1 ? 15 : keep_x;
      const float4 once = step4(here[j], south, north, below[j], above[j], c0, c1, keep);
      float4 result = once;
      if (kSteps == 2) {
        const float4 s = j > 0 ? once_here[max(j - 1, 0)] : tile[1][before][lane];
        const float4 n = j + 1 < kRows ? once_here[min(j + 1, kRows - 1)] : tile[1][behind][lane];
        const unsigned once_keep = border_row || z <= 1 || z >= nz ? 15 : keep_x;
        result = step4(once_here[j], s, n, once_below[j], once, c0, c1, once_keep);
      }
      const long long to = z - kSteps + 1;
      const bool stored = lane > 0 && lane < 31 && first + j >= 2 && first + j < kTileY - 2;
      if (stored && to >= z0 && y + j < ny) store4<kAligned>(out + (to * ny + y + j) * nx, x, nx, result);
      below[j] = once;  // kept here until the queues shift: other rows still read here[] and once_here[]
    }

    // shift the register queues
#pragma unroll
    for (int j = 0; j < kRows; ++j) {
      once_below[j] = once_here[j], once_here[j] = below[j];
      below[j] = here[j], here[j] = above[j], above[j] = ahead[j];
    }
  }
}

template <int kSteps>
static void launch_pass(const float* in, float* out, std::size_t nx, std::size_t ny, std::size_t nz, float c0,
                        float c1) {
  const auto tiles_x = static_cast<unsigned>(ceil_div(nx, kStoredX));
  const auto tiles_y = static_cast<unsigned>(ceil_div(ny, kStoredY));
  const auto tiles_z = static_cast<unsigned>(ceil_div(nz, kDepth));
  const bool aligned = aligned_for<float4>(in, out) && nx % 4 == 0;
  const auto kernel = aligned ? heat3d_temporal_blocking<kSteps, true> : heat3d_temporal_blocking<kSteps, false>;
  kernel<<<tiles_x * tiles_y * tiles_z, dim3(32, kWarps)>>>(in, out, nx, ny, nz, c0, c1, tiles_x, tiles_y);
  CUDA_CHECK(cudaGetLastError());
}

static void launch(const float* in, float* out, std::size_t nx, std::size_t ny, std::size_t nz, std::size_t steps,
                   float c0, float c1) {
  if (nx == 0 || ny == 0 || nz == 0) return;
  ping_pong(in, out, nx * ny * nz, ceil_div(steps, 2), [&](const float* from, float* to) {
    (steps >= 2 ? launch_pass<2> : launch_pass<1>)(from, to, nx, ny, nz, c0, c1);
    steps -= std::min<std::size_t>(steps, 2);
  });
}

LADDER_STEP(Heat3d, launch);
