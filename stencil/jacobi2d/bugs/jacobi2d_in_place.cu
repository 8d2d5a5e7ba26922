// bug: updates in place, so a cell reads neighbours of the old or the new time step, depending on scheduling
// caught by: cpu forward | is wrong
// caught by: cpu reverse | is wrong
// caught by: cpu-trace | global memory with no barrier between
// caught by: gpu | is wrong | --rows=1025 --cols=1025
// stage: right
#include "../jacobi2d.cuh"

constexpr int kTileX = 32, kTileY = 8;

__global__ void jacobi2d_in_place(float* a, long long rows, long long cols, unsigned tiles_x) {
  const long long row = std::int64_t{blockIdx.x / tiles_x} * kTileY + threadIdx.y;
  const long long col = std::int64_t{blockIdx.x % tiles_x} * kTileX + threadIdx.x;
  if (row >= rows || col >= cols) return;
  const long long i = row * cols + col;
  const bool border = row == 0 || row == rows - 1 || col == 0 || col == cols - 1;
  if (!border) a[i] = 0.25f * (a[i - 1] + a[i + 1] + a[i - cols] + a[i + cols]);
}

static void launch(const float* in, float* out, std::size_t rows, std::size_t cols, std::size_t steps) {
  if (rows == 0 || cols == 0) return;
  CUDA_CHECK(cudaMemcpyAsync(out, in, rows * cols * sizeof(float), cudaMemcpyDeviceToDevice));
  const auto tiles_x = static_cast<unsigned>(ceil_div(cols, kTileX));
  const auto tiles_y = static_cast<unsigned>(ceil_div(rows, kTileY));
  for (; steps > 0; --steps) {
    jacobi2d_in_place<<<tiles_x * tiles_y, dim3(kTileX, kTileY)>>>(out, rows, cols, tiles_x);
    CUDA_CHECK(cudaGetLastError());
  }
}

LADDER_STEP(Jacobi2d, launch);
