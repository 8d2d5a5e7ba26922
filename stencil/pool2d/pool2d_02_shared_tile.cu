// Problem:  overlapping windows load a pixel several times: 2.25 times at k = 3, stride 2; 9 times at stride 1.
// Idea:     a tile in shared memory: the pixels of all windows of 32 x 8 outputs, loaded once, coalesced. Outside the
//           image it holds what changes nothing: -infinity for the maximum, 0 for the sum.
// Expect:   0.6 to 1.1x step 01 at 2048x112x112x3x2/padding=1: L1 served those loads from the same SRAM. The tile
//           adds a store and a barrier; at a stride of 2 lanes share banks: two wavefronts per load.
// Measured: 0.62x step 01, 0.32 of a copy at 2048x112x112x3x2/padding=1 (H200).
// Next:     9 loads per output. A maximum over a square is a maximum of row maxima: how many loads does that leave?
#include "../plane_grid.cuh"
#include "pool2d.cuh"

constexpr int kTileX = 32;

template <bool kMean>
__global__ void pool2d_shared_tile(const float* __restrict__ in, float* __restrict__ out, PoolShape s, int tiles_x) {
  extern __shared__ float pixels[];
  const int high = blockDim.y, load_x = (kTileX - 1) * s.stride + s.k, load_y = (high - 1) * s.stride + s.k;
  const std::int64_t plane = plane_of_block();
  if (plane >= s.planes) return;  // the whole block
  const int row0 = static_cast<int>(blockIdx.x / tiles_x) * high,
            col0 = static_cast<int>(blockIdx.x % tiles_x) * kTileX;
  in += plane * s.rows * s.cols;

  // load
  const int r0 = row0 * s.stride - s.padding, c0 = col0 * s.stride - s.padding;
  for (int y = threadIdx.y; y < load_y; y += high) {
    for (int x = threadIdx.x; x < load_x; x += kTileX) {
      const int r = r0 + y, c = c0 + x;
      const bool inside = r >= 0 && r < s.rows && c >= 0 && c < s.cols;
      pixels[y * load_x + x] = inside ? in[std::int64_t{r} * s.cols + c] : Pool<kMean>::nothing();
    }
  }
  __syncthreads();
  const int row = row0 + threadIdx.y, col = col0 + threadIdx.x;
  if (row >= s.out_rows || col >= s.out_cols) return;

  // pool and store
  const float* window = pixels + threadIdx.y * s.stride * load_x + threadIdx.x * s.stride;
  float v = Pool<kMean>::nothing();
  for (int i = 0; i < s.k; ++i) {
    for (int j = 0; j < s.k; ++j) v = Pool<kMean>::join(v, window[i * load_x + j]);
  }
  const int count = max(s.last(row, s.rows) - s.first(row), 0) * max(s.last(col, s.cols) - s.first(col), 0);
  out[(plane * s.out_rows + row) * s.out_cols + col] = Pool<kMean>::result(v, count);
}

static void launch(const float* in, float* out, std::size_t planes, std::size_t rows, std::size_t cols, int k,
                   int stride, int padding, bool mean) {
  const PoolShape s = pool_shape(planes, rows, cols, k, stride, padding);
  if (planes == 0 || s.out_rows == 0 || s.out_cols == 0) return;
  // tiles of fewer rows if 8 do not fit in 48 KB
  const auto bytes = [=](int high) { return ((kTileX - 1) * stride + k) * ((high - 1) * stride + k) * sizeof(float); };
  int high = 8;
  while (bytes(high) > 48 * 1024) high /= 2;
  const int tiles_x = ceil_div(s.out_cols, kTileX), tiles_y = ceil_div(s.out_rows, high);
  const dim3 block(kTileX, high), grid = plane_grid(std::size_t{1} * tiles_x * tiles_y, planes);
  const auto kernel = mean ? pool2d_shared_tile<true> : pool2d_shared_tile<false>;
  kernel<<<grid, block, bytes(high)>>>(in, out, s, tiles_x);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Pool2d, launch);
