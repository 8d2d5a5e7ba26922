// Problem:  at K = 7 step 04 has 70 instructions per output (SASS), 49 of them FFMA; the others load and test the
//           sides. Copying the weights into a symbol takes 2 to 3 us.
// Idea:     K = 5 and 7: a tile of float4 in shared memory, 0 outside the image. A row's window is three 16-byte loads,
//           without tests. K = 3 stays in registers. Weights come through shared memory, without a copy.
// Expect:   0.95 to 1.0 of a copy at K = 3, 0.85 to 0.95 at K = 5, 0.70 to 0.80 at K = 7.
// Measured: 1.07x step 04, 0.93 of a copy at 8192x8192x5 (H200); 0.99x, 0.95 (H100).
// Why:      at K = 5 the tile's offset in shared memory matters most: 16 bytes further takes 140 us, not 152 (H200).
// Next:     what changes with 64 channels?
#include "conv2d.cuh"
#include "conv2d_shared_weights.cuh"

constexpr int kTileX = 32, kTileY = 4;  // threads
template <int K>
constexpr int kTileRows = K == 5 ? 8 : 10;  // per thread
constexpr double kTileShare = 0.75;         // with less of the tiles' rows in the image: registers (not tuned)
constexpr double kThinShare = 0.25;         // with less of a block's pixels: thin_cells

// K = 5 and 7; cols % 4 must be 0, images aligned.
template <int K>
__global__ void __launch_bounds__(kTileX* kTileY)
    conv2d_by_filter_tile(const float* __restrict__ in, const float* __restrict__ w, float* __restrict__ out,
                          long long rows, long long cols) {
  constexpr int kRows = kTileRows<K>, kHeight = kTileY * kRows + K - 1, kWidth = kTileX + 2;  // a float4 on either side
  // a row starts in the middle of a 32-byte sector; after an odd number of float4 it does in shared memory too
  static_assert(kWeights<K> % 2 == 1 && kWidth % 2 == 0);
  struct alignas(32) Shared {
    float4 weights[kWeights<K>], tile[kHeight][kWidth];
  };
  __shared__ Shared shared;
  const long long col0 = std::int64_t{blockIdx.x} * kTileX * 4, row0 = tile_y() * kTileY * kRows;
  if (row0 >= rows) return;

  // load, zeros outside the image
  const int top = row0 == 0 ? K / 2 : 0, bottom = static_cast<int>(min(rows + K / 2 - row0, 1LL * kHeight));
  const int left = col0 == 0 ? 1 : 0, right = static_cast<int>(min((cols - col0) / 4 + 1, 1LL * kWidth));
  const float* corner = in + (row0 - K / 2) * cols + col0 - 4;
  for (int i = threadIdx.y * kTileX + threadIdx.x; i < kHeight * kWidth; i += kTileX * kTileY) {
    const int r = i / kWidth, c = i % kWidth;
    const bool inside = r >= top && r < bottom && c >= left && c < right;
    __pipeline_memcpy_async(&shared.tile[r][c], inside ? corner + r * cols + 4 * c : in, sizeof(float4),
                            inside ? 0 : sizeof(float4));
  }
  __pipeline_commit();
  share_weights<K>(shared.weights, w);
  __pipeline_wait_prior(0);
  __syncthreads();
  float weights[4 * kWeights<K>];
  load_weights<K>(weights, shared.weights);

  // main loop: one input row per iteration, columns col - 4 to col + 7
  float sum[kRows][4] = {};
#pragma unroll
  for (int r = 0; r < kRows + K - 1; ++r) {
    float window[12];
#pragma unroll
    for (int v = 0; v < 3; ++v) {
      memcpy(window + 4 * v, &shared.tile[threadIdx.y * kRows + r][threadIdx.x + v], sizeof(float4));
    }
    add_row<K>(sum, weights, window, r);
  }
  const long long col = col0 + threadIdx.x * 4;
  if (col < cols) store_rows(out, sum, row0 + threadIdx.y * kRows, col, rows, cols);
}

template <int K>
static void launch_k(const float* in, const float* w, float* out, std::size_t rows, std::size_t cols) {
  constexpr std::size_t tile_rows = kTileY * kTileRows<K>;
  const bool aligned = aligned_for<float4>(in, out) && cols % 4 == 0;
  const bool registers = aligned && (K == 3 || tile_share(rows, tile_rows, tile_rows) < kTileShare);
  const bool tile = aligned && !registers;
  const int staged_rows = tile_height(rows, K - 1, {24, 16, 8});
  const std::size_t block_x = registers ? 4 * kSmallX : tile ? 4 * kTileX : kStagedX;
  const std::size_t block_y = registers ? kSmallY * kSmallRows : tile ? tile_rows : staged_rows;
  if (tile_share(cols, block_x, block_x) * tile_share(rows, block_y, block_y) < kThinShare) {
    return launch_thin(rows * cols, [&](unsigned blocks, auto index) {
      using Index = decltype(index);
      conv2d_by_filter_thin<K, Index>
          <<<blocks, kThinBlock>>>(in, w, out, static_cast<Index>(rows), Divisor<Index>(cols));
    });
  }
  const dim3 grid = tile_grid(ceil_div(cols, block_x), ceil_div(rows, block_y));
  if (registers) {
    conv2d_by_filter_registers<K><<<grid, dim3(kSmallX, kSmallY)>>>(in, w, out, rows, cols);
  } else if (tile) {
    if constexpr (K > 3) conv2d_by_filter_tile<K><<<grid, dim3(kTileX, kTileY)>>>(in, w, out, rows, cols);
  } else {
    const auto kernel = staged_rows == 24   ? conv2d_by_filter_staged<K, 24>
                        : staged_rows == 16 ? conv2d_by_filter_staged<K, 16>
                                            : conv2d_by_filter_staged<K, 8>;
    kernel<<<grid, kStagedX>>>(in, w, out, rows, cols);
  }
  CUDA_CHECK(cudaGetLastError());
}

static void launch(const float* in, const float* w, float* out, std::size_t rows, std::size_t cols, int k) {
  if (rows == 0 || cols == 0) return;
  const auto launch_size = k == 3 ? launch_k<3> : k == 5 ? launch_k<5> : launch_k<7>;
  launch_size(in, w, out, rows, cols);
}

LADDER_STEP(Conv2d, launch);
