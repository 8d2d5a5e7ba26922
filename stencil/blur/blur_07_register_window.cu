// Problem:  steps 02 to 06 move 4 bytes per instruction, and compute a row sum three times or use shared memory.
// Idea:     4 columns x 4 rows per thread: a float4 and a float2 of each of 6 rows, independent loads, and row sums in
//           registers. Rows that aren't 16-byte aligned are staged in shared memory as float4.
// Expect:   0.95 to 1.0 of a copy: 12 loads for 16 pixels; rows that blocks share hit L2. 0.85 to 0.9 where rows aren't
//           aligned: stores and shared loads of 4 bytes, and a barrier.
// Measured: 4.95x step 06, 0.96 of a copy at 8192x8192 (H200); 3.73x, 0.98 (H100).
// Next:     why not a running sum: add the row that enters the window, subtract the one that leaves?
#include "blur.cuh"
#include "../staged_rows.cuh"
#include "../thin_domain.cuh"

constexpr int kBlockX = 128, kBlockY = 4;  // threads
constexpr int kRows = 4;                   // per thread
constexpr double kThinShare = 0.25;        // with less of a block's pixels in the image, thin_cells is faster

static __device__ float4 mean4(float4 a, float4 b, float4 c) {
  return make_float4((a.x + b.x + c.x) * kNinth, (a.y + b.y + c.y) * kNinth, (a.z + b.z + c.z) * kNinth,
                     (a.w + b.w + c.w) * kNinth);
}

// cols % 4 must be 0, in and out 16-byte aligned.
__global__ void __launch_bounds__(kBlockX* kBlockY)
    blur_register_window(const float* __restrict__ in, float* __restrict__ out, long long rows, long long cols) {
  const long long col = (std::int64_t{blockIdx.x} * kBlockX + threadIdx.x) * 4;
  const long long row0 = (tile_y() * kBlockY + threadIdx.y) * kRows;
  if (row0 >= rows || col >= cols) return;

  // load, and sum along the rows: columns col .. col + 2, col + 1 .. col + 3, and so on
  float4 sums[kRows + kWindow - 1];
#pragma unroll
  for (int r = 0; r < kRows + kWindow - 1; ++r) {
    const float* from = in + min(row0 + r, rows - 1) * cols + col;
    const float4 p = *reinterpret_cast<const float4*>(from);
    const bool last = col + 4 >= cols;
    const float2 right = last ? make_float2(p.w, p.w) : *reinterpret_cast<const float2*>(from + 4);
    sums[r] = make_float4(p.x + p.y + p.z, p.y + p.z + p.w, p.z + p.w + right.x, p.w + right.x + right.y);
  }

  // sum down the columns, store
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    if (row0 + r >= rows) break;
    __stcs(reinterpret_cast<float4*>(out + (row0 + r) * cols + col), mean4(sums[r], sums[r + 1], sums[r + 2]));
  }
}

// Any shape: kStagedRows rows of one column per thread. Lanes read and write neighbouring floats.
template <int kStagedRows>
__global__ void __launch_bounds__(kBlockX)
    blur_register_window_staged(const float* __restrict__ in, float* __restrict__ out, long long rows, long long cols) {
  __shared__ alignas(32) float4 tile[kStagedRows + kWindow - 1][kStagedFloat4<kBlockX + kWindow - 1>];
  const long long col0 = std::int64_t{blockIdx.x} * kBlockX, col = col0 + threadIdx.x;
  const long long row0 = tile_y() * kStagedRows;
  if (row0 >= rows) return;
  const int last = static_cast<int>(min(rows - 1 - row0, kStagedRows + kWindow - 2LL));  // row of the tile to read

  // load
  stage_rows<kBlockX>(tile, in, rows * cols, 0, last + 1, [&](int r) { return (row0 + r) * cols + col0; });
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  if (col >= cols) return;

  // sum along the rows
  const unsigned address = float_address(in, row0 * cols + col0), pitch = static_cast<unsigned>(cols);
  const long long right1 = min(col + 1, cols - 1) - col, right2 = min(col + 2, cols - 1) - col;
  float sums[kStagedRows + kWindow - 1];
#pragma unroll
  for (int r = 0; r < kStagedRows + kWindow - 1; ++r) {
    const int clamped = min(r, last);
    const float* p = staged(tile[clamped], address + clamped * pitch) + threadIdx.x;
    sums[r] = p[0] + p[right1] + p[right2];
  }

  // sum down the columns, store
  float* to = out + row0 * cols + col;
#pragma unroll
  for (int r = 0; r < kStagedRows; ++r, to += cols) {
    if (r > last) break;
    *to = (sums[r] + sums[r + 1] + sums[r + 2]) * kNinth;
  }
}

// Few rows or columns: threads take pixels in memory order.
template <typename Index>
__global__ void __launch_bounds__(kThinBlock)
    blur_register_window_thin(const float* __restrict__ in, float* __restrict__ out, Index rows, Divisor<Index> cols) {
  thin_cells(out, rows * cols.d, cols, [&](Index i, Index row, Index col) {
    const Index right1 = col + 1 < cols.d ? 1 : 0, right2 = col + 2 < cols.d ? 2 : right1;
    const Index down1 = row + 1 < rows ? cols.d : 0, down2 = row + 2 < rows ? down1 + cols.d : down1;
    const auto row_sum = [&](Index first) { return in[first] + in[first + right1] + in[first + right2]; };
    return (row_sum(i) + row_sum(i + down1) + row_sum(i + down2)) * kNinth;
  });
}

static void launch(const float* in, float* out, std::size_t rows, std::size_t cols) {
  if (rows == 0 || cols == 0) return;
  const bool aligned = aligned_for<float4>(in, out) && cols % 4 == 0;
  const int staged_rows = tile_height(rows, kWindow - 1, {16, 4});
  const std::size_t block_cols = aligned ? 4 * kBlockX : kBlockX, block_rows = aligned ? kRows * kBlockY : staged_rows;
  if (tile_share(cols, block_cols, block_cols) * tile_share(rows, block_rows, block_rows) < kThinShare) {
    return launch_thin(rows * cols, [&](unsigned blocks, auto index) {
      using Index = decltype(index);
      blur_register_window_thin<Index><<<blocks, kThinBlock>>>(in, out, static_cast<Index>(rows), Divisor<Index>(cols));
    });
  }
  if (aligned) {
    const dim3 grid = tile_grid(ceil_div(cols, 4 * kBlockX), ceil_div(rows, kRows * kBlockY));
    blur_register_window<<<grid, dim3(kBlockX, kBlockY)>>>(in, out, rows, cols);
  } else {
    const dim3 grid = tile_grid(ceil_div(cols, kBlockX), ceil_div(rows, staged_rows));
    const auto kernel = staged_rows == 16 ? blur_register_window_staged<16> : blur_register_window_staged<4>;
    kernel<<<grid, kBlockX>>>(in, out, rows, cols);
  }
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Blur, launch);
