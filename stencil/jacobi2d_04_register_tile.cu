// Problem:  step 03 stores every cell in the tile only to load it again, four times.
// Idea:     a tile in registers: a thread loads the 4 float4, one below the other, of its 4 x 2 cells and their
//           neighbours above and below; the cells to the left and right hit L1. No shared memory, no barrier.
// Expect:   0.95 to 1.0 of a copy: half of step 03's instructions; rows that blocks share come from L1 and L2.
// Measured: 1.59x step 03, 0.92 of a copy at 8192x8192 (H200); 1.36x, 0.99 (H100).
// Why:      0.99 on the H100, 0.92 on the H200: 1.29x the speed for 1.43x the bandwidth. What is not DRAM's time, such
//           as launches and L2, did not shrink (hypothesis, not tested).
// Next:     that is one time step. Must each one read memory and write it back?
#include "jacobi2d.cuh"
#include "float4_row.cuh"

constexpr int kBlockX = 128, kBlockY = 4;  // threads
constexpr int kRows = 2;                   // per thread

// kAligned: cols % 4 == 0 and aligned arrays; else 4-byte accesses.
template <bool kAligned>
__global__ void __launch_bounds__(kBlockX* kBlockY)
    jacobi2d_register_tile(const float* __restrict__ in, float* __restrict__ out, long long rows, long long cols,
                           unsigned tiles_x) {
  const long long col = (std::int64_t{blockIdx.x % tiles_x} * kBlockX + threadIdx.x) * 4;
  const long long row0 = (std::int64_t{blockIdx.x / tiles_x} * kBlockY + threadIdx.y) * kRows;
  if (row0 >= rows || col >= cols) return;

  // load: row0 - 1 to row0 + kRows, and of the inner rows the cells to the left and right
  float4 v[kRows + 2];
  float left[kRows], right[kRows];
#pragma unroll
  for (int r = 0; r < kRows + 2; ++r) {
    const float* row = in + min(max(row0 + r - 1, 0LL), rows - 1) * cols;
    v[r] = load4_clamped<kAligned>(row, col, cols);
    if (r == 0 || r > kRows) continue;
    left[r - 1] = row[max(col - 1, 0LL)];
    right[r - 1] = row[min(col + 4, cols - 1)];
  }

  // compute and store
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    const long long row = row0 + r;
    if (row >= rows) break;
    const float4 south = v[r], here = v[r + 1], north = v[r + 2];
    float cell[4] = {0.25f * (left[r] + here.y + south.x + north.x), 0.25f * (here.x + here.z + south.y + north.y),
                     0.25f * (here.y + here.w + south.z + north.z), 0.25f * (here.z + right[r] + south.w + north.w)};
    const float old[4] = {here.x, here.y, here.z, here.w};
    const bool border_row = row == 0 || row == rows - 1;
#pragma unroll
    for (int x = 0; x < 4; ++x) {
      if (border_row || col + x == 0 || col + x == cols - 1) cell[x] = old[x];
    }
    float* to = out + row * cols + col;
    if (kAligned) {
      *reinterpret_cast<float4*>(to) = make_float4(cell[0], cell[1], cell[2], cell[3]);
    } else {
#pragma unroll
      for (int x = 0; x < 4; ++x) {
        if (col + x < cols) to[x] = cell[x];
      }
    }
  }
}

static void launch(const float* in, float* out, std::size_t rows, std::size_t cols, std::size_t steps) {
  if (rows == 0 || cols == 0) return;
  const auto tiles_x = static_cast<unsigned>(ceil_div(cols, 4 * kBlockX));
  const auto tiles_y = static_cast<unsigned>(ceil_div(rows, kRows * kBlockY));
  ping_pong(in, out, rows * cols, steps, [&](const float* from, float* to) {
    const bool aligned = aligned_for<float4>(from, to) && cols % 4 == 0;
    const auto kernel = aligned ? jacobi2d_register_tile<true> : jacobi2d_register_tile<false>;
    kernel<<<tiles_x * tiles_y, dim3(kBlockX, kBlockY)>>>(from, to, rows, cols, tiles_x);
    CUDA_CHECK(cudaGetLastError());
  });
}

LADDER_STEP(Jacobi2d, launch);
