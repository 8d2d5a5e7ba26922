// Problem:  step 03 stores every cell in the tile only to load it again, four times.
// Idea:     a tile in registers: a thread loads the 5 float4, one below the other, of its 4 x 3 cells and the rows
//           above and below; cells to the left and right hit L1. No shared memory, no barrier.
// Expect:   0.95 to 1.0 of a copy: half of step 03's instructions. 0.85 where rows aren't aligned and are staged.
// Measured: 1.66x step 03, 0.96 of a copy at 8192x8192 (H200); 1.36x, 1.00 (H100).
// Why:      0.92 of a copy at 8191 x 8193 (H200), 0.98 (H100): rows are staged in whole sectors.
// Next:     must the next time step read this one's result from memory?
#include "jacobi2d.cuh"
#include "../staged_rows.cuh"

constexpr int kBlockX = 128, kBlockY = 4;       // threads
constexpr int kRows = 3;                        // per thread
constexpr int kStagedX = 256, kStagedRows = 8;  // cells of a block of kStagedX threads

// Serpentine order: reads first what L2 may still hold of the last launch's writes. From 8192 x 8192 on that gains 1 %
// at most (NOTES.md). Returns a negative index for surplus blocks; the caller exits.
static __device__ long long tile_in_turn(long long tiles_y, bool backwards) {
  return backwards ? tiles_y - 1 - tile_y() : tile_y();
}

// cols % 4 must be 0, arrays aligned.
__global__ void __launch_bounds__(kBlockX* kBlockY)
    jacobi2d_register_tile(const float* __restrict__ in, float* __restrict__ out, long long rows, long long cols,
                           long long tiles_y, bool backwards) {
  const long long col = (std::int64_t{blockIdx.x} * kBlockX + threadIdx.x) * 4;
  const long long row0 = (tile_in_turn(tiles_y, backwards) * kBlockY + threadIdx.y) * kRows;
  if (row0 < 0 || row0 >= rows || col >= cols) return;

  // load: rows row0 - 1 to row0 + kRows, and the cells to the left and right of the inner rows
  float4 v[kRows + 2];
  float left[kRows], right[kRows];
#pragma unroll
  for (int r = 0; r < kRows + 2; ++r) {
    const float* row = in + min(max(row0 + r - 1, 0LL), rows - 1) * cols;
    v[r] = *reinterpret_cast<const float4*>(row + col);
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
    float4 cell =
        make_float4(0.25f * (left[r] + here.y + south.x + north.x), 0.25f * (here.x + here.z + south.y + north.y),
                    0.25f * (here.y + here.w + south.z + north.z), 0.25f * (here.z + right[r] + south.w + north.w));
    const bool border_row = row == 0 || row == rows - 1;
    if (border_row) cell = here;
    if (col == 0) cell.x = here.x;
    if (col + 4 == cols) cell.w = here.w;
    __stcs(reinterpret_cast<float4*>(out + row * cols + col), cell);
  }
}

// Any shape: kStagedRows cells of one column per thread. Lanes read and write neighbouring floats.
__global__ void __launch_bounds__(kStagedX)
    jacobi2d_register_tile_staged(const float* __restrict__ in, float* __restrict__ out, long long rows, long long cols,
                                  long long tiles_y, bool backwards) {
  __shared__ alignas(32) float4 tile[kStagedRows + 2][kStagedFloat4<kStagedX + 2>];
  const long long col0 = std::int64_t{blockIdx.x} * kStagedX, col = col0 + threadIdx.x;
  const long long row0 = tile_in_turn(tiles_y, backwards) * kStagedRows;
  if (row0 < 0 || row0 >= rows) return;

  // load: rows row0 - 1 to row0 + kStagedRows, those inside the matrix
  const int above = row0 == 0 ? 1 : 0, below = static_cast<int>(min(rows + 1 - row0, kStagedRows + 2LL));
  stage_rows<kStagedX>(tile, in, rows * cols, above, below, [&](int r) { return (row0 + r - 1) * cols + col0 - 1; });
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  if (col >= cols) return;

  // compute and store
  const unsigned address = float_address(in, (row0 - 1) * cols + col0 - 1), pitch = static_cast<unsigned>(cols);
  const auto cell = [&](int r) { return staged(tile[r], address + r * pitch) + threadIdx.x + 1; };
  const int first = row0 == 0 ? 0 : -1, last = static_cast<int>(min(rows - 1 - row0, 1LL * kStagedRows));
  const bool border = col == 0 || col == cols - 1;
  float* to = out + row0 * cols + col;
  // South is the row above (row - 1), north the row below. At the matrix's border `south` or `north` may come from a
  // row that was never staged; the border keeps its value, so neither is used.
  const float* row_here = cell(1);
  float south = *cell(0), here = *row_here;
#pragma unroll
  for (int r = 0; r < kStagedRows; ++r, to += cols) {
    if (r > last) break;
    const float* row_north = cell(r + 2);
    const float north = *row_north;
    *to = border || r == first || r == last ? here : 0.25f * (row_here[-1] + row_here[1] + south + north);
    south = here, here = north, row_here = row_north;
  }
}

static void launch(const float* in, float* out, std::size_t rows, std::size_t cols, std::size_t steps) {
  if (rows == 0 || cols == 0) return;
  bool backwards = false;
  ping_pong(in, out, rows * cols, steps, [&](const float* from, float* to) {
    if (aligned_for<float4>(from, to) && cols % 4 == 0) {
      const std::size_t tiles_y = ceil_div(rows, kRows * kBlockY);
      const dim3 grid = tile_grid(ceil_div(cols, 4 * kBlockX), tiles_y);
      jacobi2d_register_tile<<<grid, dim3(kBlockX, kBlockY)>>>(from, to, rows, cols, tiles_y, backwards);
    } else {
      const std::size_t tiles_y = ceil_div(rows, kStagedRows);
      const dim3 grid = tile_grid(ceil_div(cols, kStagedX), tiles_y);
      jacobi2d_register_tile_staged<<<grid, kStagedX>>>(from, to, rows, cols, tiles_y, backwards);
    }
    CUDA_CHECK(cudaGetLastError());
    backwards = !backwards;
  });
}

LADDER_STEP(Jacobi2d, launch);
