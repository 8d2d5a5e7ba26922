// bug: each slice has rows / slices rows, rounded down, so the remaining rows belong to no slice
// caught by: cpu forward | is wrong
// caught by: gpu | is wrong
// stage: right
#include "../col_sum.cuh"

constexpr int kBlock = 256;

__global__ void col_sum_last_slice_dropped(const float* __restrict__ x, float* __restrict__ out, std::size_t rows,
                                           std::size_t cols, std::size_t height) {
  const std::size_t column = std::size_t{blockIdx.x} * kBlock + threadIdx.x;
  const std::size_t begin = blockIdx.y * height, end = min(begin + height, rows);
  if (column >= cols) return;
  float sum = 0.0f;
  for (std::size_t r = begin; r < end; ++r) sum += x[r * cols + column];
  out[blockIdx.y * cols + column] = sum;
}

static void launch(const float* x, float* out, std::size_t rows, std::size_t cols) {
  if (cols == 0) return;
  const std::size_t slices = std::min<std::size_t>(std::max<std::size_t>(rows / 64, 1), 1024);
  const auto tiles = static_cast<unsigned>(ceil_div(cols, kBlock));
  float* partials = scratch<float>(slices * cols);
  const dim3 grid(tiles, static_cast<unsigned>(slices));
  col_sum_last_slice_dropped<<<grid, kBlock>>>(x, partials, rows, cols, rows / slices);
  CUDA_CHECK(cudaGetLastError());
  col_sum_last_slice_dropped<<<tiles, kBlock>>>(partials, out, slices, cols, slices);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(ColSum, launch);
