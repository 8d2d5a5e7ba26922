// bug: no second image: the pass down the columns works in place, on sums that other blocks have already replaced
// caught by: cpu reverse | is wrong
// caught by: cpu-trace | global memory with no barrier between
// caught by: gpu | is wrong | --rows=4096 --cols=1024
// stage: races and barriers
#include "../blur.cuh"

constexpr int kTileX = 32, kTileY = 8;

__global__ void blur_rows_to(const float* __restrict__ in, float* __restrict__ sums, long long rows, long long cols,
                             unsigned tiles_x) {
  const long long row = std::int64_t{blockIdx.x / tiles_x} * kTileY + threadIdx.y;
  const long long col = std::int64_t{blockIdx.x % tiles_x} * kTileX + threadIdx.x;
  if (row >= rows || col >= cols) return;
  float sum = 0;
  for (int j = 0; j < kWindow; ++j) sum += in[row * cols + min(col + j, cols - 1)];
  sums[row * cols + col] = sum;
}

__global__ void blur_columns_in_place(float* image, long long rows, long long cols, unsigned tiles_x) {
  const long long row = std::int64_t{blockIdx.x / tiles_x} * kTileY + threadIdx.y;
  const long long col = std::int64_t{blockIdx.x % tiles_x} * kTileX + threadIdx.x;
  if (row >= rows || col >= cols) return;
  float sum = 0;
  for (int i = 0; i < kWindow; ++i) sum += image[min(row + i, rows - 1) * cols + col];
  image[row * cols + col] = sum * kNinth;
}

static void launch(const float* in, float* out, std::size_t rows, std::size_t cols) {
  if (rows == 0 || cols == 0) return;
  const auto tiles_x = static_cast<unsigned>(ceil_div(cols, kTileX));
  const auto tiles_y = static_cast<unsigned>(ceil_div(rows, kTileY));
  blur_rows_to<<<tiles_x * tiles_y, dim3(kTileX, kTileY)>>>(in, out, rows, cols, tiles_x);
  blur_columns_in_place<<<tiles_x * tiles_y, dim3(kTileX, kTileY)>>>(out, rows, cols, tiles_x);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Blur, launch);
