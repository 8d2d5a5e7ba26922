// Problem:  step 03 has one FFMA per shared-memory load.
// Idea:     4 columns x 4 rows of sums in registers. The float4 loads of the thread's columns, one per row, are
//           all in flight before the first is used; columns to the left and right hit L1. No barrier.
// Expect:   0.9 to 1.0 of a copy at K = 3 and 5; 0.6 to 0.85 at K = 7, where the FFMA alone take 98 us at 66.9 TFLOP/s.
// Measured: 3.11x step 03, 0.86 of a copy at 8192x8192x5 (H200); 2.52x, 0.96 (H100).
// Why:      0.94, 0.86 and 0.64 of a copy at K = 3, 5 and 7 (H200). 8 rows per thread are faster at K = 5, slower at 7.
// Next:     at K = 7 there are 70 instructions per output (SASS), 49 of them FFMA. Which of the others can go?
#include "conv2d.cuh"
#include "conv2d_rows.cuh"

#include <type_traits>

static __constant__ float conv2d_block_w[kMostTaps];

// ---- cols % 4 == 0, aligned images

constexpr int kBlockX = 64, kBlockY = 2;  // threads
constexpr int kRows = 4;                  // per thread

template <int K>
__global__ void __launch_bounds__(kBlockX* kBlockY)
    conv2d_register_blocking(const float* __restrict__ in, float* __restrict__ out, long long rows, long long cols) {
  using Side = std::conditional_t<K == 7, float4, float2>;  // columns needed on either side
  constexpr int kSide = sizeof(Side) / sizeof(float);
  const long long col = (std::int64_t{blockIdx.x} * kBlockX + threadIdx.x) * 4;
  const long long row0 = (tile_y() * kBlockY + threadIdx.y) * kRows;
  if (row0 >= rows || col >= cols) return;
  const bool left = col > 0, right = col + 4 < cols;
  const float* from = in + (row0 - K / 2) * cols + col;

  // load: this thread's columns
  float4 own[kRows + K - 1];
#pragma unroll
  for (int r = 0; r < kRows + K - 1; ++r) {
    const bool inside = row0 + r >= K / 2 && row0 + r < rows + K / 2;
    own[r] = inside ? *reinterpret_cast<const float4*>(from + r * cols) : make_float4(0, 0, 0, 0);
  }

  // main loop: one input row per iteration, columns col - kSide to col + 3 + kSide
  float sum[kRows][4] = {};
#pragma unroll
  for (int r = 0; r < kRows + K - 1; ++r) {
    const bool inside = row0 + r >= K / 2 && row0 + r < rows + K / 2;
    float window[4 + 2 * kSide];
    load_window<Side>(window, own[r], from + r * cols, inside, left, right);
    add_row<K>(sum, conv2d_block_w, window, r);
  }
  store_rows(out, sum, row0, col, rows, cols);
}

// ---- Any shape: a tile in shared memory, one column per thread

constexpr int kStagedX = 128, kStagedRows = 16;  // threads, rows per thread

template <int K>
__global__ void __launch_bounds__(kStagedX)
    conv2d_register_blocking_staged(const float* __restrict__ in, float* __restrict__ out, long long rows,
                                    long long cols) {
  using Block = StagedBlock<K, kStagedX, kStagedRows>;
  __shared__ alignas(32) typename Block::Tile tile;
  const Block block(in, rows, cols);
  if (block.row0 >= rows) return;

  // load, zeros outside the image
  block.load(tile, in);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  block.zero_sides(tile);
  if (block.col >= cols) return;

  // main loop and store
  float sum[kStagedRows] = {};
  block.add_rows(sum, conv2d_block_w, tile);
  block.store(out, sum);
}

template <int K>
static void launch_k(const float* in, float* out, std::size_t rows, std::size_t cols) {
  if (aligned_for<float4>(in, out) && cols % 4 == 0) {
    const dim3 grid = tile_grid(ceil_div(cols, 4 * kBlockX), ceil_div(rows, kRows * kBlockY));
    conv2d_register_blocking<K><<<grid, dim3(kBlockX, kBlockY)>>>(in, out, rows, cols);
  } else {
    const dim3 grid = tile_grid(ceil_div(cols, kStagedX), ceil_div(rows, kStagedRows));
    conv2d_register_blocking_staged<K><<<grid, kStagedX>>>(in, out, rows, cols);
  }
  CUDA_CHECK(cudaGetLastError());
}

static void launch(const float* in, const float* w, float* out, std::size_t rows, std::size_t cols, int k) {
  if (rows == 0 || cols == 0) return;
  CUDA_CHECK(cudaMemcpyToSymbol(conv2d_block_w, w, k * k * sizeof(float), 0, cudaMemcpyDeviceToDevice));
  const auto launch_size = k == 3 ? launch_k<3> : k == 5 ? launch_k<5> : launch_k<7>;
  launch_size(in, out, rows, cols);
}

LADDER_STEP(Conv2d, launch);
