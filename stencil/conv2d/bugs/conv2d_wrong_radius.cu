// bug: the tile's halo is k / 2 on the left and above, but k / 2 - 1 on the right and below: loads stop one pixel early
// caught by: cpu forward | is wrong
// caught by: gpu | is wrong
// stage: right
#include "../conv2d.cuh"

constexpr int kTileX = 32, kTileY = 8;

template <int K>
__global__ void conv2d_wrong_radius(const float* __restrict__ in, const float* __restrict__ w, float* __restrict__ out,
                                    long long rows, long long cols, unsigned tiles_x) {
  __shared__ float tile[kTileY + K - 1][kTileX + K - 1];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const long long row0 = std::int64_t{blockIdx.x / tiles_x} * kTileY;
  const long long col0 = std::int64_t{blockIdx.x % tiles_x} * kTileX;
  for (int y = ty; y < kTileY + K - 2; y += kTileY) {  // + K - 1
    for (int x = tx; x < kTileX + K - 2; x += kTileX) {
      const long long r = row0 + y - K / 2, c = col0 + x - K / 2;
      tile[y][x] = r >= 0 && r < rows && c >= 0 && c < cols ? in[r * cols + c] : 0.0f;
    }
  }
  __syncthreads();
  if (row0 + ty >= rows || col0 + tx >= cols) return;
  float sum = 0;
  for (int i = 0; i < K; ++i) {
    for (int j = 0; j < K; ++j) sum += w[i * K + j] * tile[ty + i][tx + j];
  }
  out[(row0 + ty) * cols + col0 + tx] = sum;
}

static void launch(const float* in, const float* w, float* out, std::size_t rows, std::size_t cols, int k) {
  if (rows == 0 || cols == 0) return;
  const auto tiles_x = static_cast<unsigned>(ceil_div(cols, kTileX));
  const auto tiles_y = static_cast<unsigned>(ceil_div(rows, kTileY));
  const auto kernel = k == 3 ? conv2d_wrong_radius<3> : k == 5 ? conv2d_wrong_radius<5> : conv2d_wrong_radius<7>;
  kernel<<<tiles_x * tiles_y, dim3(kTileX, kTileY)>>>(in, w, out, rows, cols, tiles_x);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Conv2d, launch);
