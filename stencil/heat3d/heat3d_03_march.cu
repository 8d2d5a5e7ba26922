// Problem:  step 02's tile is mostly halo, and step 01 reads each plane three times from L2.
// Idea:     "2.5-D": a thread marches along z with a register queue of four planes: behind, here, ahead, next. Only
//           `next` is loaded. Neighbours in the plane were loaded two planes ago by other threads: L1 hits.
// Expect:   0.9 to 1.0 of a copy: a march of 24 planes loads 26; rows that blocks share come from L2.
// Measured: 5.48x step 02, 0.93 of a copy at 512 (H200); 3.95x, 0.94 (H100).
// Why:      the limit is not certain. With marches of 16 planes L2 was at 93 % of its peak (ncu).
// Next:     must every time step read memory and write it back?
#include "heat3d.cuh"

// kAligned: nx % 4 == 0 and aligned arrays; a thread's four cells of a row are one float4. Otherwise they are kBlockX
// apart, so that each access of a warp covers 32 neighbouring floats and L2 writes whole sectors.
constexpr int kThreads = 256;
template <bool kAligned>
constexpr int kBlockX = kAligned ? 64 : 32;  // threads, 4 cells along x each
template <bool kAligned>
constexpr int kRows = kAligned ? 2 : 1;  // per thread
template <bool kAligned>
constexpr int kDepth = kAligned ? 24 : 8;  // planes per march
template <bool kAligned>
constexpr int kApart = kAligned ? 1 : kBlockX<false>;
template <bool kAligned>
constexpr int blocks_per_sm() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
  return kAligned ? 3 : 4;  // an SM of sm_75 holds 1024 threads
#else
  return kAligned ? 3 : 5;
#endif
}

// Loads a thread's four cells, the first from *from. The row ends `count` cells from there.
template <bool kAligned>
static __device__ void load_cells(float (&v)[4], const float* __restrict__ from, int count) {
  if constexpr (kAligned) {
    const float4 all = *reinterpret_cast<const float4*>(from);
    v[0] = all.x, v[1] = all.y, v[2] = all.z, v[3] = all.w;
  } else {
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      if (k * kApart<false> < count) v[k] = from[k * kApart<false>];
    }
  }
}

// Loads the cells' left and right neighbours, the first from from[left_of_first]. Neighbours outside have any value.
template <bool kAligned>
static __device__ void load_sides(float (&left)[4], float (&right)[4], const float (&here)[4],
                                  const float* __restrict__ from, int count, int left_of_first) {
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    left[k] = right[k] = 0;
    if (kAligned) {
      left[k] = k == 0 ? from[left_of_first] : here[max(k - 1, 0)];
      right[k] = k == 3 ? from[count == 4 ? 3 : 4] : here[min(k + 1, 3)];
    } else {
      const int x = k * kApart<false>;
      if (x < count) left[k] = from[k == 0 ? left_of_first : x - 1];
      if (x + 1 < count) right[k] = from[x + 1];
    }
  }
}

// Blocks that run at the same time are neighbours in a plane, so rows that they share hit L2 the second time. Every
// other march goes down, and every other time step runs the blocks backwards: what was written last is still in L2.
template <bool kAligned>
__global__ void __launch_bounds__(kThreads, blocks_per_sm<kAligned>())
    heat3d_march(const float* __restrict__ in, float* __restrict__ out, long long nx, long long ny, long long nz,
                 float c0, float c1, unsigned tiles_x, unsigned tiles, bool backwards) {
  constexpr int kR = kRows<kAligned>;
  const unsigned block = backwards ? gridDim.x - 1 - blockIdx.x : blockIdx.x;
  const unsigned tile = block % tiles, march = block / tiles;
  const long long x = std::int64_t{tile % tiles_x} * 4 * kBlockX<kAligned> + threadIdx.x * (kAligned ? 4 : 1);
  const long long y = (std::int64_t{tile / tiles_x} * blockDim.y + threadIdx.y) * kR;
  const long long z0 = std::int64_t{march} * kDepth<kAligned>;
  if (x >= nx || y >= ny) return;
  const int planes = static_cast<int>(min(nz - z0, 1LL * kDepth<kAligned>)), dz = march % 2 == 0 ? 1 : -1;
  const long long first = dz > 0 ? z0 : z0 + planes - 1, step = dz * nx * ny;
  const bool starts_at_border = dz > 0 ? z0 == 0 : z0 + planes == nz;
  const bool ends_at_border = dz > 0 ? z0 + planes == nz : z0 == 0;
  const int inner_end = planes - (ends_at_border ? 1 : 0);  // from here on there is no plane ahead
  const float* from = in + (first * ny + y) * nx + x;       // in plane `here`
  float* to = out + (first * ny + y) * nx + x;
  const int count = static_cast<int>(min(nx - x, 1000LL)), rows = static_cast<int>(min(ny - y, 1000LL));
  const int left_of_first = x == 0 ? 0 : -1;
  const long long south = y == 0 ? 0 : -nx, north = rows > kR ? kR * nx : 0;  // at the border any row works
  const auto inside = [&](int r) { return r == 0 || r < rows; };

  // prologue: three planes of the register queue
  float here[kR][4] = {}, behind[kR][4] = {}, next[kR][4] = {};
#pragma unroll
  for (int r = 0; r < kR; ++r) {
    if (!inside(r)) break;
    load_cells<kAligned>(here[r], from + r * nx, count);
    if (!starts_at_border) load_cells<kAligned>(behind[r], from + r * nx - step, count);
    if (inner_end > 0) load_cells<kAligned>(next[r], from + r * nx + step, count);
  }

  // main loop: one plane per iteration, with the plane after the next in flight; all loads come before the first sum
#pragma unroll 1
  for (int i = 0; i < planes; ++i, from += step, to += step) {
    float ahead[kR][4], below[4] = {}, above[4] = {}, left[kR][4], right[kR][4];
#pragma unroll
    for (int r = 0; r < kR; ++r) {
#pragma unroll
      for (int k = 0; k < 4; ++k) ahead[r][k] = next[r][k];
      if (i + 1 < inner_end && inside(r)) load_cells<kAligned>(next[r], from + r * nx + 2 * step, count);
    }
    load_cells<kAligned>(below, from + south, count);
    load_cells<kAligned>(above, from + north, count);
#pragma unroll
    for (int r = 0; r < kR; ++r) {
      if (inside(r)) load_sides<kAligned>(left[r], right[r], here[r], from + r * nx, count, left_of_first);
    }

#pragma unroll
    for (int r = 0; r < kR; ++r) {
      const bool border = (i == 0 && starts_at_border) || i == inner_end || y + r == 0 || r == rows - 1;
      float cell[4];
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        const float s = r == 0 ? below[k] : behind[max(r - 1, 0)][k];  // already shifted: the row below, in this plane
        const float n = r == kR - 1 ? above[k] : here[min(r + 1, kR - 1)][k];
        const float sum = left[r][k] + right[r][k] + s + n + behind[r][k] + ahead[r][k];
        const bool at_side = (k == 0 && x == 0) || count == k * kApart<kAligned> + 1;
        cell[k] = border || at_side ? here[r][k] : c0 * here[r][k] + c1 * sum;
        behind[r][k] = here[r][k];
        if (!kAligned && k * kApart<kAligned> < count) to[k * kApart<kAligned>] = cell[k];
      }
      if (kAligned && inside(r)) {
        *reinterpret_cast<float4*>(to + r * nx) = make_float4(cell[0], cell[1], cell[2], cell[3]);
      }
    }
#pragma unroll
    for (int r = 0; r < kR; ++r) {
#pragma unroll
      for (int k = 0; k < 4; ++k) here[r][k] = ahead[r][k];
    }
  }
}

// gridDim.y and gridDim.z are at most 65535, so all tiles are numbered in gridDim.x, up to 2^31 - 1.
template <bool kAligned>
static void launch_step(const float* in, float* out, std::size_t nx, std::size_t ny, std::size_t nz, float c0, float c1,
                        bool backwards) {
  const dim3 block(kBlockX<kAligned>, kThreads / kBlockX<kAligned>);
  const auto tiles_x = static_cast<unsigned>(ceil_div(nx, 4 * block.x));
  const auto tiles = tiles_x * static_cast<unsigned>(ceil_div(ny, block.y * kRows<kAligned>));
  const auto marches = static_cast<unsigned>(ceil_div(nz, kDepth<kAligned>));
  heat3d_march<kAligned><<<tiles * marches, block>>>(in, out, nx, ny, nz, c0, c1, tiles_x, tiles, backwards);
  CUDA_CHECK(cudaGetLastError());
}

static void launch(const float* in, float* out, std::size_t nx, std::size_t ny, std::size_t nz, std::size_t steps,
                   float c0, float c1) {
  if (nx == 0 || ny == 0 || nz == 0) return;
  bool backwards = false;
  ping_pong(in, out, nx * ny * nz, steps, [&](const float* from, float* to) {
    const bool aligned = aligned_for<float4>(from, to) && nx % 4 == 0;
    (aligned ? launch_step<true> : launch_step<false>)(from, to, nx, ny, nz, c0, c1, backwards);
    backwards = !backwards;
  });
}

LADDER_STEP(Heat3d, launch);
