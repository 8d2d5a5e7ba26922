// Problem:  step 04 is close to a copy, and one time step per launch cannot read and write less.
// Idea:     4 steps per pass; a warp moves down a strip of 128 columns. After loading row r it advances r-1 to step 1,
//           r-2 to step 2, ..., and stores r-4. Each time level keeps two rows in registers.
// Expect:   3 to 4x step 04: a quarter of the DRAM traffic, less the halo's 1.13x loads and 4x the arithmetic per byte.
// Measured: 3.13x step 04, 3.01 of a copy at 8192x8192 (H200); 3.29x, 3.30 (H100).
// Next:     8 time steps per pass?
#include "jacobi2d.cuh"
#include "../float4_row.cuh"
#include "../thin_domain.cuh"

constexpr int kSteps = 4;    // time steps per pass, at most 4: the halo is one lane
constexpr int kStrip = 120;  // columns that a warp stores
constexpr int kRows = 128;   // rows that a warp stores, at most
constexpr int kWarps = 4;    // per block, independent of each other
constexpr int kAhead = 8;    // rows in flight ahead of use
constexpr unsigned kAll = 0xffffffff;
// If less than this share of the computed cells is stored, fall back to one step per launch.
constexpr double kThinShare = 1.0 / kSteps;

// T time steps. All lanes must reach the shuffles. kAligned: cols % 4 == 0, aligned arrays; else 4-byte accesses.
template <int T, bool kAligned>
__global__ void __launch_bounds__(32 * kWarps)
    jacobi2d_temporal_blocking(const float* __restrict__ in, float* __restrict__ out, long long rows, long long cols,
                               unsigned strips, int warp_rows) {
  const unsigned warp = blockIdx.x * kWarps + threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  const long long col = std::int64_t{warp % strips} * kStrip - 4 + 4 * lane;
  const long long row0 = std::int64_t{warp / strips} * warp_rows;
  if (row0 >= rows) return;  // the whole warp
  const long long end = min(row0 + warp_rows, rows);
  const auto load = [&](long long r) {
    return r >= 0 && r < rows ? load4<kAligned>(in + r * cols, col, cols) : make_float4(0, 0, 0, 0);
  };

  // prologue: the first rows in flight
  float4 older[T] = {}, old[T] = {};  // register queue: the two rows before the newest of each level
  float4 ahead[kAhead];
#pragma unroll
  for (int j = 0; j < kAhead; ++j) ahead[j] = load(row0 - T + j);

  // main loop: kAhead rows per iteration
  for (long long r0 = row0 - T; r0 < end + T; r0 += kAhead) {
    float4 loaded[kAhead];
#pragma unroll
    for (int j = 0; j < kAhead; ++j) loaded[j] = ahead[j], ahead[j] = load(r0 + kAhead + j);
#pragma unroll
    for (int j = 0; j < kAhead; ++j) {
      const long long r = r0 + j;
      float4 now = loaded[j];
#pragma unroll
      for (int t = 0; t < T; ++t) {  // `now` is row r - t after t steps
        const float4 south = older[t], here = old[t];
        const float left = __shfl_up_sync(kAll, here.w, 1), right = __shfl_down_sync(kAll, here.x, 1);
        float4 next =
            make_float4(0.25f * (left + here.y + south.x + now.x), 0.25f * (here.x + here.z + south.y + now.y),
                        0.25f * (here.y + here.w + south.z + now.z), 0.25f * (here.z + right + south.w + now.w));
        const long long row = r - t - 1;
        const bool border_row = row <= 0 || row >= rows - 1;  // cells at the border keep their value
        if (border_row || col <= 0 || col >= cols - 1) next.x = here.x;
        if (border_row || col + 1 >= cols - 1) next.y = here.y;
        if (border_row || col + 2 >= cols - 1) next.z = here.z;
        if (border_row || col + 3 >= cols - 1) next.w = here.w;
        older[t] = here;
        old[t] = now;
        now = next;
      }
      // store: row r - T is complete; the outer lanes are halo
      const long long to = r - T;
      if (to >= row0 && to < end && lane > 0 && lane < 31) store4<kAligned>(out + to * cols, col, cols, now);
    }
  }
}

// Computes one time step with thin_cells.
template <typename Index>
__global__ void __launch_bounds__(kThinBlock)
    jacobi2d_thin(const float* __restrict__ in, float* __restrict__ out, Index rows, Divisor<Index> cols) {
  thin_cells(out, rows * cols.d, cols, [&](Index i, Index row, Index col) {
    const bool border = row == 0 || row == rows - 1 || col == 0 || col == cols.d - 1;
    const Index side = border ? 0 : 1, pitch = border ? 0 : cols.d;  // a cell at the border is its own neighbour
    const float right = in[i + side], sum = in[i - side] + right + in[i - pitch] + in[i + pitch];
    return border ? right : 0.25f * sum;
  });
}

template <int T>
static void launch_pass(const float* in, float* out, std::size_t rows, std::size_t cols) {
  const bool aligned = aligned_for<float4>(in, out) && cols % 4 == 0;
  const auto kernel = aligned ? jacobi2d_temporal_blocking<T, true> : jacobi2d_temporal_blocking<T, false>;
  const std::size_t strips = ceil_div(cols, kStrip), resident = kWarps * resident_blocks(kernel, 32 * kWarps);
  // few enough rows that a small domain has warps for the whole device; a multiple of kAhead
  const std::size_t warp_rows = std::min<std::size_t>(kRows, ceil_div(strips * rows, resident * kAhead) * kAhead);
  const std::size_t warps = strips * ceil_div(rows, warp_rows);
  kernel<<<static_cast<unsigned>(ceil_div(warps, kWarps)), 32 * kWarps>>>(
      in, out, rows, cols, static_cast<unsigned>(strips), static_cast<int>(warp_rows));
  CUDA_CHECK(cudaGetLastError());
}

static void launch(const float* in, float* out, std::size_t rows, std::size_t cols, std::size_t steps) {
  if (rows == 0 || cols == 0) return;
  if (rows <= 2 || cols <= 2) steps = 0;  // all cells are at the border: a copy
  if (tile_share(cols, kStrip, 128) * tile_share(rows, rows, rows + 2 * kSteps) < kThinShare) {
    return ping_pong(in, out, rows * cols, steps, [&](const float* from, float* to) {
      launch_thin(rows * cols, [&](unsigned blocks, auto index) {
        using Index = decltype(index);
        jacobi2d_thin<Index><<<blocks, kThinBlock>>>(from, to, static_cast<Index>(rows), Divisor<Index>(cols));
      });
    });
  }
  ping_pong(in, out, rows * cols, ceil_div(steps, kSteps), [&](const float* from, float* to) {
    const auto pass = steps >= 4   ? launch_pass<4>
                      : steps == 3 ? launch_pass<3>
                      : steps == 2 ? launch_pass<2>
                                   : launch_pass<1>;
    pass(from, to, rows, cols);
    steps -= std::min<std::size_t>(steps, kSteps);
  });
}

LADDER_STEP(Jacobi2d, launch);
