// bug: two time steps on a tile with a halo of one cell: the second reads halo cells that the first couldn't compute
// caught by: cpu forward | is wrong | --rows=40 --cols=40 --steps=2
// caught by: gpu | is wrong | --rows=40 --cols=40 --steps=2
// stage: right
#include "../jacobi2d.cuh"

constexpr int kHalo = 1;                              // 2 is needed: one per time step
constexpr int kTile = 16, kLoad = kTile + 2 * kHalo;  // square; one thread per loaded cell

__global__ void jacobi2d_halo_too_small(const float* __restrict__ in, float* __restrict__ out, long long rows,
                                        long long cols, unsigned tiles_x, int steps) {
  __shared__ float tile[2][kLoad][kLoad];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const long long row = std::int64_t{blockIdx.x / tiles_x} * kTile + ty - kHalo;
  const long long col = std::int64_t{blockIdx.x % tiles_x} * kTile + tx - kHalo;
  const bool inside = row >= 0 && row < rows && col >= 0 && col < cols;
  const bool border = row <= 0 || row >= rows - 1 || col <= 0 || col >= cols - 1;
  const bool edge = tx == 0 || tx == kLoad - 1 || ty == 0 || ty == kLoad - 1;  // of the tile
  tile[0][ty][tx] = inside ? in[row * cols + col] : 0.0f;
  for (int s = 0; s < steps; ++s) {
    __syncthreads();
    const auto& from = tile[s % 2];
    const float sum = edge ? 0 : from[ty][tx - 1] + from[ty][tx + 1] + from[ty - 1][tx] + from[ty + 1][tx];
    tile[1 - s % 2][ty][tx] = border || edge ? from[ty][tx] : 0.25f * sum;
  }
  const bool stored = tx >= kHalo && tx < kHalo + kTile && ty >= kHalo && ty < kHalo + kTile;
  if (stored && inside) out[row * cols + col] = tile[steps % 2][ty][tx];
}

static void launch(const float* in, float* out, std::size_t rows, std::size_t cols, std::size_t steps) {
  if (rows == 0 || cols == 0) return;
  const auto tiles_x = static_cast<unsigned>(ceil_div(cols, kTile));
  const auto tiles_y = static_cast<unsigned>(ceil_div(rows, kTile));
  ping_pong(in, out, rows * cols, ceil_div(steps, 2), [&](const float* from, float* to) {
    const int now = steps >= 2 ? 2 : 1;
    jacobi2d_halo_too_small<<<tiles_x * tiles_y, dim3(kLoad, kLoad)>>>(from, to, rows, cols, tiles_x, now);
    CUDA_CHECK(cudaGetLastError());
    steps -= now;
  });
}

LADDER_STEP(Jacobi2d, launch);
