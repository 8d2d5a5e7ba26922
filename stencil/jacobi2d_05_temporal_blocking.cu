// Step 04 is as fast as a copy, and a time step by itself cannot be faster. Idea: several time steps per pass over
// memory. A warp marches down a strip of 128 columns, a float4 per lane. When it has loaded row r, it can compute row r
// - 1 after one time step, then row r - 2 after two, and so on to row r - T after T steps, which it stores. Of each
// level it keeps the last two rows in registers, and the neighbours to the left and right come by shuffle. With each
// step one column more at either side of the strip is wrong, for its neighbours belong to others; so strips overlap by
// 4 columns, one lane, on either side, and 120 of 128 columns are stored. The same holds for T rows above and below a
// piece.
// Expect: near T times step 04 for T = 4, less what overlaps; arithmetic begins to count.
// Next question: T = 8? (Two lanes on either side, twice the registers, twice the arithmetic per byte: at some T the
// copy stops being the limit.)
#include "jacobi2d.cuh"

constexpr int kSteps = 4;    // per pass, at most 4: the halo is one lane
constexpr int kStrip = 120;  // columns that a warp stores
constexpr int kRows = 128;   // rows that a warp stores
constexpr int kWarps = 4;    // per block, each on its own
constexpr int kAhead = 8;    // rows that are loaded ahead
constexpr unsigned kAll = 0xffffffff;

template <bool kVector>
static __device__ float4 load4(const float* __restrict__ row, long long col, long long cols) {
  if constexpr (kVector) {
    return col >= 0 && col < cols ? *reinterpret_cast<const float4*>(row + col) : make_float4(0, 0, 0, 0);
  } else {
    float v[4];
#pragma unroll
    for (int x = 0; x < 4; ++x) v[x] = col + x >= 0 && col + x < cols ? row[col + x] : 0.0f;
    return make_float4(v[0], v[1], v[2], v[3]);
  }
}

template <bool kVector>
static __device__ void store4(float* __restrict__ row, long long col, long long cols, float4 v) {
  if (kVector) {
    if (col < cols) *reinterpret_cast<float4*>(row + col) = v;
    return;
  }
  const float cell[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
  for (int x = 0; x < 4; ++x) {
    if (col + x < cols) row[col + x] = cell[x];
  }
}

// T time steps. Every lane of a warp stays to the end: the shuffles need them all.
template <int T, bool kVector>
__global__ void __launch_bounds__(32 * kWarps)
    jacobi2d_temporal_blocking(const float* __restrict__ in, float* __restrict__ out, long long rows, long long cols,
                               unsigned strips) {
  const unsigned warp = blockIdx.x * kWarps + threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  const long long col = static_cast<long long>(warp % strips) * kStrip - 4 + 4 * lane;
  const long long row0 = static_cast<long long>(warp / strips) * kRows;
  if (row0 >= rows) return;  // the whole warp
  const long long end = min(row0 + kRows, rows);
  const auto load = [&](long long r) {
    return r >= 0 && r < rows ? load4<kVector>(in + r * cols, col, cols) : make_float4(0, 0, 0, 0);
  };
  float4 older[T] = {}, old[T] = {};  // of each level the two rows before the newest
  float4 ahead[kAhead];
#pragma unroll
  for (int j = 0; j < kAhead; ++j) ahead[j] = load(row0 - T + j);
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
        const bool border_row = row <= 0 || row >= rows - 1;
        if (border_row || col <= 0) next.x = here.x;
        if (border_row || col + 1 >= cols - 1) next.y = here.y;
        if (border_row || col + 2 >= cols - 1) next.z = here.z;
        if (border_row || col + 3 >= cols - 1) next.w = here.w;
        if (col >= cols - 1) next.x = here.x;
        older[t] = here;
        old[t] = now;
        now = next;
      }
      const long long to = r - T;
      if (to >= row0 && to < end && lane > 0 && lane < 31) store4<kVector>(out + to * cols, col, cols, now);
    }
  }
}

template <int T>
static void launch_pass(const float* in, float* out, std::size_t rows, std::size_t cols) {
  const bool vector = aligned_for<float4>(in, out) && cols % 4 == 0;
  const auto strips = static_cast<unsigned>(ceil_div(cols, kStrip));
  const auto warps = strips * static_cast<unsigned>(ceil_div(rows, kRows));
  const auto kernel = vector ? jacobi2d_temporal_blocking<T, true> : jacobi2d_temporal_blocking<T, false>;
  kernel<<<ceil_div(warps, static_cast<unsigned>(kWarps)), 32 * kWarps>>>(in, out, rows, cols, strips);
  CUDA_CHECK(cudaGetLastError());
}

static void launch(const float* in, float* out, std::size_t rows, std::size_t cols, std::size_t steps) {
  if (rows == 0 || cols == 0) return;
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
