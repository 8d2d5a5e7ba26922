// Problem:  step 04's loop lengths are unknown to the compiler, so it cannot move loads ahead of earlier uses.
// Idea:     k and stride as template parameters for common pairs: loops are unrolled, bounds tests become predicates,
//           and a thread has several loads in flight. Other pairs use the loops.
// Expect:   1.3 to 2.0x step 04, 0.7 to 0.9 of a copy at 2048x112x112x3x2/padding=1: several of 27 loads in flight,
//           as many as 32 registers hold. Rows of 56 results use 56 of 64 lanes.
// Measured: 1.57x step 04, 0.76 of a copy at 2048x112x112x3x2/padding=1 (H200).
// Next:     images of 7 x 7 leave most of a 32 x 32 tile idle. How would you number threads then?
#include "../plane_grid.cuh"
#include "pool2d.cuh"

constexpr int kTileX = 32, kTileY = 8;  // threads
constexpr int kRows = 4;                // outputs per thread, in a column

// K, S: window and stride, or 0 if known only at run time.
template <bool kMean, int K, int S>
__global__ void pool2d_unrolled(const float* __restrict__ in, float* __restrict__ out, PoolShape s, int tiles_x) {
  const std::int64_t plane = plane_of_block();
  const int row0 = (static_cast<int>(blockIdx.x / tiles_x) * kTileY + threadIdx.y) * kRows;
  const int col = static_cast<int>(blockIdx.x % tiles_x) * kTileX + threadIdx.x;
  if (plane >= s.planes || row0 >= s.out_rows || col >= s.out_cols) return;
  in += plane * s.rows * s.cols;
  if (K > 0) s.k = K, s.stride = S;
  const int c0 = s.first(col), c1 = s.last(col, s.cols);
  float v[kRows];
#pragma unroll
  for (int o = 0; o < kRows; ++o) v[o] = Pool<kMean>::nothing();

    // input rows of the four windows; row i = 0 is the first window's first
#pragma unroll(K > 0 ? (kRows - 1) * S + K : 1)
  for (int i = 0; i < (kRows - 1) * s.stride + s.k; ++i) {
    const int r = row0 * s.stride - s.padding + i;
    const bool inside = r >= 0 && r < s.rows;
    float along = Pool<kMean>::nothing();
#pragma unroll(K > 0 ? K : 1)
    for (int j = 0; j < s.k; ++j) {
      const int c = col * s.stride - s.padding + j;
      const float pixel = inside && c >= c0 && c < c1 ? in[std::int64_t{r} * s.cols + c] : Pool<kMean>::nothing();
      along = Pool<kMean>::join(along, pixel);
    }
#pragma unroll
    for (int o = 0; o < kRows; ++o) {
      if (i >= o * s.stride && i < o * s.stride + s.k) v[o] = Pool<kMean>::join(v[o], along);
    }
  }

  // store
#pragma unroll
  for (int o = 0; o < kRows; ++o) {
    const int row = row0 + o, count = max(s.last(row, s.rows) - s.first(row), 0) * max(c1 - c0, 0);
    if (row < s.out_rows) out[(plane * s.out_rows + row) * s.out_cols + col] = Pool<kMean>::result(v[o], count);
  }
}

template <bool kMean>
static auto kernel_for(int k, int stride) {
  if (k == 2 && stride == 2) return pool2d_unrolled<kMean, 2, 2>;
  if (k == 3 && stride == 1) return pool2d_unrolled<kMean, 3, 1>;
  if (k == 3 && stride == 2) return pool2d_unrolled<kMean, 3, 2>;
  if (k == 5 && stride == 1) return pool2d_unrolled<kMean, 5, 1>;
  return pool2d_unrolled<kMean, 0, 0>;
}

static void launch(const float* in, float* out, std::size_t planes, std::size_t rows, std::size_t cols, int k,
                   int stride, int padding, bool mean) {
  const PoolShape s = pool_shape(planes, rows, cols, k, stride, padding);
  if (planes == 0 || s.out_rows == 0 || s.out_cols == 0) return;
  const int tiles_x = ceil_div(s.out_cols, kTileX), tiles_y = ceil_div(s.out_rows, kTileY * kRows);
  const dim3 block(kTileX, kTileY), grid = plane_grid(std::size_t{1} * tiles_x * tiles_y, planes);
  const auto kernel = mean ? kernel_for<true>(k, stride) : kernel_for<false>(k, stride);
  kernel<<<grid, block>>>(in, out, s, tiles_x);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Pool2d, launch);
