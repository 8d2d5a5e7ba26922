// bug: fmaxf returns the operand that is a number, so a NaN among the pixels is lost
// caught by: cpu forward | want nan
// caught by: gpu | want nan
// stage: right
#include "../../plane_grid.cuh"
#include "../pool2d.cuh"

constexpr int kTileX = 32, kTileY = 8;

template <bool kMean>
__global__ void pool2d_nan_eaten(const float* __restrict__ in, float* __restrict__ out, PoolShape s, int tiles_x) {
  const std::int64_t plane = plane_of_block();
  const int row = static_cast<int>(blockIdx.x / tiles_x) * kTileY + threadIdx.y;
  const int col = static_cast<int>(blockIdx.x % tiles_x) * kTileX + threadIdx.x;
  if (plane >= s.planes || row >= s.out_rows || col >= s.out_cols) return;
  in += plane * s.rows * s.cols;
  const int r0 = s.first(row), r1 = s.last(row, s.rows), c0 = s.first(col), c1 = s.last(col, s.cols);
  float v = Pool<kMean>::nothing();
  for (int r = r0; r < r1; ++r) {
    for (int c = c0; c < c1; ++c)
      v = kMean ? v + in[std::int64_t{r} * s.cols + c] : fmaxf(v, in[std::int64_t{r} * s.cols + c]);
  }
  const int count = max(r1 - r0, 0) * max(c1 - c0, 0);  // 0 if all is padding
  out[(plane * s.out_rows + row) * s.out_cols + col] = Pool<kMean>::result(v, count);
}

static void launch(const float* in, float* out, std::size_t planes, std::size_t rows, std::size_t cols, int k,
                   int stride, int padding, bool mean) {
  const PoolShape s = pool_shape(planes, rows, cols, k, stride, padding);
  if (planes == 0 || s.out_rows == 0 || s.out_cols == 0) return;  // a grid of 0 blocks is an error
  const int tiles_x = ceil_div(s.out_cols, kTileX), tiles_y = ceil_div(s.out_rows, kTileY);
  const dim3 block(kTileX, kTileY), grid = plane_grid(std::size_t{1} * tiles_x * tiles_y, planes);
  const auto kernel = mean ? pool2d_nan_eaten<true> : pool2d_nan_eaten<false>;
  kernel<<<grid, block>>>(in, out, s, tiles_x);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Pool2d, launch);
