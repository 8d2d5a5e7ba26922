// Problem:  step 02's tile is mostly halo, and step 01 reads each plane three times from L2.
// Idea:     "2.5-D": a thread marches along z with a register queue of four float4: behind, here, ahead, next. Per plane
//           only the last is new. Neighbours in the plane were loaded two planes ago, by other threads: L1 hits.
// Expect:   0.9 to 1.0 of a copy: a march of 32 planes loads 34; the rows that blocks share come from L2.
// Measured: 5.23x step 02, 0.89 of a copy at 512 (H200).
// Why:      not known for certain: with marches of 16 planes L2 was at 93 % of its peak (ncu). 0.70 of a copy at
//           511 x 513 x 512, by accesses of 4 bytes.
// Next:     that is one time step. Must each one read memory and write it back?
#include "heat3d.cuh"
#include "float4_row.cuh"

constexpr int kBlockX = 64, kBlockY = 4;  // threads, 4 cells along x each
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
constexpr int kBlocksPerSm = 4;  // 1024 threads, all that an SM of sm_75 holds
#else
constexpr int kBlocksPerSm = 5;
#endif

// kAligned: nx % 4 == 0 and aligned arrays; else 4-byte accesses.
// Every other march goes downwards. Aligned: blocks that run at the same time are neighbours in the plane, so that the
// second read of the rows that they share hits L2, and every other time step takes the blocks backwards, for what the
// one before wrote last is still in L2. Not aligned: marches above each other run at the same time, 18 % faster there.
template <bool kAligned>
constexpr int kDepth = kAligned ? 32 : 16;  // planes of a march

template <bool kAligned>
__global__ void __launch_bounds__(kBlockX* kBlockY, kBlocksPerSm)
    heat3d_march(const float* __restrict__ in, float* __restrict__ out, long long nx, long long ny, long long nz,
                 float c0, float c1, unsigned tiles_x, unsigned tiles, bool backwards) {
  const unsigned block = backwards ? gridDim.x - 1 - blockIdx.x : blockIdx.x;
  const unsigned marches = gridDim.x / tiles, tile = kAligned ? block % tiles : block / marches;
  const unsigned march = kAligned ? block / tiles : block % marches;
  const long long x = (std::int64_t{tile % tiles_x} * kBlockX + threadIdx.x) * 4;
  const long long y = std::int64_t{tile / tiles_x} * kBlockY + threadIdx.y;
  const long long z0 = std::int64_t{march} * kDepth<kAligned>;
  if (x >= nx || y >= ny) return;
  const int planes = static_cast<int>(min(nz - z0, static_cast<long long>(kDepth<kAligned>))),
            dz = march % 2 == 0 ? 1 : -1;
  const long long first = dz > 0 ? z0 : z0 + planes - 1, step = dz * nx * ny;
  const bool starts_at_border = dz > 0 ? z0 == 0 : z0 + planes == nz;
  const bool ends_at_border = dz > 0 ? z0 + planes == nz : z0 == 0;
  const float* row = in + first * nx * ny + y * nx;  // of the plane here
  float* to = out + first * nx * ny + y * nx + x;
  const bool border_row = y == 0 || y == ny - 1;
  const long long south = border_row ? 0 : -nx, north = border_row ? 0 : nx;  // at the border any row will do
  const long long left = max(x - 1, 0LL), right = min(x + 4, nx - 1);

  // prologue: three planes of the register queue behind, here, ahead, next
  float4 here = load4_clamped<kAligned>(row, x, nx);
  float4 behind = starts_at_border ? here : load4_clamped<kAligned>(row - step, x, nx);
  float4 next = planes == 1 && ends_at_border ? here : load4_clamped<kAligned>(row + step, x, nx);

  // main loop: one plane each time, the one after the next on its way. Not unrolled, and at least 5 blocks per SM: more
  // bytes in flight than fewer threads with more registers have.
#pragma unroll 1
  for (int i = 0; i < planes; ++i, row += step, to += step) {
    const bool at_end = i == planes - 1 && ends_at_border;
    const float4 ahead = next;
    if (i + 2 < planes || (i + 2 == planes && !ends_at_border)) next = load4_clamped<kAligned>(row + 2 * step, x, nx);
    const float4 s = load4_clamped<kAligned>(row + south, x, nx), n = load4_clamped<kAligned>(row + north, x, nx);
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
      if (!kAligned && x + k < nx) to[k] = cell[k];
    }
    if (kAligned) *reinterpret_cast<float4*>(to) = make_float4(cell[0], cell[1], cell[2], cell[3]);
    behind = here;
    here = ahead;
  }
}

// gridDim.y and gridDim.z end at 65535 blocks. So all tiles count in x, which takes 2^31 - 1.
static void launch(const float* in, float* out, std::size_t nx, std::size_t ny, std::size_t nz, std::size_t steps,
                   float c0, float c1) {
  if (nx == 0 || ny == 0 || nz == 0) return;
  const auto tiles_x = static_cast<unsigned>(ceil_div(nx, 4 * kBlockX));
  const auto tiles = tiles_x * static_cast<unsigned>(ceil_div(ny, kBlockY));
  bool backwards = false;
  ping_pong(in, out, nx * ny * nz, steps, [&](const float* from, float* to) {
    const bool aligned = aligned_for<float4>(from, to) && nx % 4 == 0;
    const auto kernel = aligned ? heat3d_march<true> : heat3d_march<false>;
    const auto marches = static_cast<unsigned>(ceil_div(nz, aligned ? kDepth<true> : kDepth<false>));
    kernel<<<tiles * marches, dim3(kBlockX, kBlockY)>>>(from, to, nx, ny, nz, c0, c1, tiles_x, tiles,
                                                        aligned && backwards);
    CUDA_CHECK(cudaGetLastError());
    backwards = !backwards;
  });
}

LADDER_STEP(Heat3d, launch);
