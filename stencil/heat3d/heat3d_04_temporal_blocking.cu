// Problem:  step 03 is close to a copy, and one time step per launch cannot read and write less.
// Idea:     two time steps per pass: behind the plane being loaded the march computes plane z after one step and plane
//           z - 1 after two. Three planes per level in registers; rows for other warps in shared memory.
// Expect:   1.3 to 1.8x step 03: half the DRAM traffic, but 1.28x the loads (120 x 20 of 128 x 24 cells are stored).
// Measured: 1.43x step 03, 1.33 of a copy at 512 (H200); 1.68x, 1.58 (H100).
// Next:     why does this pay although the halo costs 28 %?
#include "heat3d.cuh"
#include "../float4_row.cuh"
#include "../thin_domain.cuh"

constexpr int kTileY = 24;                            // rows loaded
constexpr int kStoredX = 120, kStoredY = kTileY - 4;  // without the halo: one float4, two rows on either side
constexpr unsigned kAll = 0xffffffff;
constexpr double kThinShare = 0.375;  // with a smaller share of loads stored, one time step per launch is faster

// Returns 4 cells after a time step; border cells, with a bit in `keep`, keep their value. All lanes must call it.
static __device__ float4 step4(float4 here, float4 south, float4 north, float4 below, float4 above, float c0, float c1,
                               unsigned keep) {
  const float l = __shfl_up_sync(kAll, here.w, 1), r = __shfl_down_sync(kAll, here.x, 1);
  float4 v = make_float4(c0 * here.x + c1 * (l + here.y + south.x + north.x + below.x + above.x),
                         c0 * here.y + c1 * (here.x + here.z + south.y + north.y + below.y + above.y),
                         c0 * here.z + c1 * (here.y + here.w + south.z + north.z + below.z + above.z),
                         c0 * here.w + c1 * (here.z + r + south.w + north.w + below.w + above.w));
  if (keep == 0) return v;
  if (keep & 1) v.x = here.x;
  if (keep & 2) v.y = here.y;
  if (keep & 4) v.z = here.z;
  if (keep & 8) v.w = here.w;
  return v;
}

// Rows per warp: with more, fewer rows pass through shared memory. 4-byte accesses leave registers for only two.
template <bool kAligned>
constexpr int kRowsOf = kAligned ? 3 : 2;

// kSteps: time steps per pass, 1 or 2. No thread may return early: barriers and shuffles need all of them. With two
// blocks per SM, one computes while the other waits. kAligned: nx % 4 == 0 and aligned arrays; else 4-byte accesses.
template <int kSteps, bool kAligned>
__global__ void __launch_bounds__(32 * kTileY / kRowsOf<kAligned>, 2)
    heat3d_temporal_blocking(const float* __restrict__ in, float* __restrict__ out, long long nx, long long ny,
                             long long nz, float c0, float c1, unsigned tiles_x, unsigned tiles_y, long long depth) {
  constexpr int kRows = kRowsOf<kAligned>, kWarps = kTileY / kRows;
  // first and last row of each warp, before and after the first time step; two buffers save a barrier per plane
  __shared__ float4 edge[2][2][kWarps][2][32];
  const int lane = threadIdx.x, warp = threadIdx.y, first = warp * kRows;  // first: this warp's first row of the tile
  const long long x = std::int64_t{blockIdx.x % tiles_x} * kStoredX - 4 + 4 * lane;
  const long long y = std::int64_t{blockIdx.x / tiles_x % tiles_y} * kStoredY - 2 + first;
  const long long z0 = std::int64_t{blockIdx.x / tiles_x / tiles_y} * depth, end = min(z0 + depth, nz);
  const long long plane = nx * ny;
  const int before = max(warp - 1, 0), behind = min(warp + 1, kWarps - 1);
  unsigned keep[kRows];
  bool inside[kRows], stored[kRows];
#pragma unroll
  for (int j = 0; j < kRows; ++j) {
    keep[j] = 0;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      keep[j] |= (x + k <= 0 || x + k >= nx - 1 || y + j <= 0 || y + j >= ny - 1) << k;
    }
    inside[j] = x >= 0 && x < nx && y + j >= 0 && y + j < ny;
    // results at the tile's edge are wrong: neighbours are missing
    stored[j] = inside[j] && lane > 0 && lane < 31 && first + j >= 2 && first + j < kTileY - 2;
  }
  // loads this thread's cells of row j of plane z; `from`: the plane at this warp's first row
  const auto load = [&](const float* from, long long z, int j) {
    return inside[j] && z >= 0 && z < nz ? load4<kAligned>(from + j * nx, x, nx) : make_float4(0, 0, 0, 0);
  };

  // prologue: queues of planes z - 1, z, z + 1 before the first time step, and z - 2, z - 1 after it (once_*)
  const float* from = in + (z0 - kSteps) * plane + y * nx;
  float* to = out + (z0 - 2 * kSteps + 2) * plane + y * nx;
  float4 below[kRows], here[kRows], above[kRows], once_below[kRows] = {}, once_here[kRows] = {};
#pragma unroll
  for (int j = 0; j < kRows; ++j) {
    below[j] = load(from, z0 - kSteps, j), here[j] = load(from + plane, z0 - kSteps + 1, j);
    above[j] = load(from + 2 * plane, z0 - kSteps + 2, j);
  }
  from += 3 * plane;

  // main loop: one plane per iteration
  int buffer = 0;
#pragma unroll 1
  for (long long z = z0 - kSteps + 1; z < end + kSteps - 1; ++z, buffer ^= 1, from += plane, to += plane) {
    // load: plane z + 2, one plane before its use
    float4 ahead[kRows];
#pragma unroll
    for (int j = 0; j < kRows; ++j) ahead[j] = load(from, z + 2, j);

    // exchange with the warps before and behind
    float4(*const rows)[kWarps][2][32] = edge[buffer];
    rows[0][warp][0][lane] = here[0], rows[0][warp][1][lane] = here[kRows - 1];
    rows[1][warp][0][lane] = once_here[0], rows[1][warp][1][lane] = once_here[kRows - 1];
    __syncthreads();

    // compute and store
    const bool border = z <= 0 || z >= nz - 1, once_border = z <= 1 || z >= nz;
#pragma unroll
    for (int j = 0; j < kRows; ++j) {
      const float4 south = j > 0 ? here[max(j - 1, 0)] : rows[0][before][1][lane];
      const float4 north = j + 1 < kRows ? here[min(j + 1, kRows - 1)] : rows[0][behind][0][lane];
      const float4 once = step4(here[j], south, north, below[j], above[j], c0, c1, border ? 15 : keep[j]);
      float4 result = once;
      if (kSteps == 2) {
        const float4 s = j > 0 ? once_here[max(j - 1, 0)] : rows[1][before][1][lane];
        const float4 n = j + 1 < kRows ? once_here[min(j + 1, kRows - 1)] : rows[1][behind][0][lane];
        result = step4(once_here[j], s, n, once_below[j], once, c0, c1, once_border ? 15 : keep[j]);
      }
      if (stored[j] && z - kSteps + 1 >= z0) store4<kAligned>(to + j * nx, x, nx, result);
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

// Computes one time step with thin_cells.
template <typename Index>
__global__ void __launch_bounds__(kThinBlock)
    heat3d_thin(const float* __restrict__ in, float* __restrict__ out, Divisor<Index> nx, Divisor<Index> ny, Index nz,
                float c0, float c1) {
  thin_cells(out, nx.d * ny.d * nz, nx, [&](Index i, Index row, Index x) {
    const Index z = ny.quotient(row), y = row - z * ny.d;
    const bool border = x == 0 || x == nx.d - 1 || y == 0 || y == ny.d - 1 || z == 0 || z == nz - 1;
    const Index side = border ? 0 : 1, pitch = border ? 0 : nx.d, plane = border ? 0 : nx.d * ny.d;
    const float here = in[i];  // a cell at the border is its own neighbour
    const float sum = in[i - side] + in[i + side] + in[i - pitch] + in[i + pitch] + in[i - plane] + in[i + plane];
    return border ? here : c0 * here + c1 * sum;
  });
}

template <int kSteps>
static void launch_pass(const float* in, float* out, std::size_t nx, std::size_t ny, std::size_t nz, float c0,
                        float c1) {
  const auto tiles_x = static_cast<unsigned>(ceil_div(nx, kStoredX));
  const auto tiles_y = static_cast<unsigned>(ceil_div(ny, kStoredY));
  const bool aligned = aligned_for<float4>(in, out) && nx % 4 == 0;
  const auto kernel = aligned ? heat3d_temporal_blocking<kSteps, true> : heat3d_temporal_blocking<kSteps, false>;
  const int warps = kTileY / (aligned ? kRowsOf<true> : kRowsOf<false>);
  constexpr int extra = 6;  // time of a march besides its planes: two more computed, four loaded first
  const std::size_t depth = march_depth(nz, std::size_t{tiles_x} * tiles_y, resident_blocks(kernel, 32 * warps), extra);
  const auto marches = static_cast<unsigned>(ceil_div(nz, depth));
  kernel<<<tiles_x * tiles_y * marches, dim3(32, warps)>>>(in, out, nx, ny, nz, c0, c1, tiles_x, tiles_y, depth);
  CUDA_CHECK(cudaGetLastError());
}

static void launch(const float* in, float* out, std::size_t nx, std::size_t ny, std::size_t nz, std::size_t steps,
                   float c0, float c1) {
  if (nx == 0 || ny == 0 || nz == 0) return;
  if (nx <= 2 || ny <= 2 || nz <= 2) steps = 0;  // all cells are at the border: a copy
  if (tile_share(nx, kStoredX, 128) * tile_share(ny, kStoredY, kTileY) * tile_share(nz, nz, nz + 4) < kThinShare) {
    return ping_pong(in, out, nx * ny * nz, steps, [&](const float* from, float* to) {
      launch_thin(nx * ny * nz, [&](unsigned blocks, auto index) {
        using Index = decltype(index);
        heat3d_thin<Index>
            <<<blocks, kThinBlock>>>(from, to, Divisor<Index>(nx), Divisor<Index>(ny), static_cast<Index>(nz), c0, c1);
      });
    });
  }
  ping_pong(in, out, nx * ny * nz, ceil_div(steps, 2), [&](const float* from, float* to) {
    (steps >= 2 ? launch_pass<2> : launch_pass<1>)(from, to, nx, ny, nz, c0, c1);
    steps -= std::min<std::size_t>(steps, 2);
  });
}

LADDER_STEP(Heat3d, launch);
