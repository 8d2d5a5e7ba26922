// bug: float4 whenever four columns are left, but if cols % 4 != 0 most rows aren't 16-byte aligned
// caught by: cpu forward | misaligned address
// caught by: cpu-asan forward | misaligned address
// caught by: gpu | misaligned address
// stage: memory
#include "../transpose.cuh"

constexpr int kTile = 32;

__global__ void transpose_float4_any_row(const float* __restrict__ in, float* __restrict__ out, std::size_t rows,
                                         std::size_t cols, unsigned tiles_x) {
  __shared__ float tile[kTile][kTile + 1];
  const int x = 4 * threadIdx.x, ty = threadIdx.y;  // 8 x 32 threads
  const std::size_t col0 = std::size_t{blockIdx.x % tiles_x} * kTile;
  const std::size_t row0 = std::size_t{blockIdx.x / tiles_x} * kTile;
  const float* from = &in[(row0 + ty) * cols + col0 + x];
  if (row0 + ty < rows && col0 + x + 4 <= cols) {  // needs cols % 4 == 0 and `in` aligned too
    const float4 v = *reinterpret_cast<const float4*>(from);
    tile[ty][x] = v.x, tile[ty][x + 1] = v.y, tile[ty][x + 2] = v.z, tile[ty][x + 3] = v.w;
  } else {
    for (int k = 0; k < 4; ++k) {
      if (row0 + ty < rows && col0 + x + k < cols) tile[ty][x + k] = from[k];
    }
  }
  __syncthreads();
  for (int k = 0; k < 4; ++k) {
    if (col0 + ty < cols && row0 + x + k < rows) out[(col0 + ty) * rows + row0 + x + k] = tile[x + k][ty];
  }
}

static void launch(const float* in, float* out, std::size_t rows, std::size_t cols) {
  if (rows == 0 || cols == 0) return;
  const unsigned tiles_x = ceil_div(cols, kTile);
  const unsigned tiles_y = ceil_div(rows, kTile);
  transpose_float4_any_row<<<tiles_x * tiles_y, dim3(kTile / 4, kTile)>>>(in, out, rows, cols, tiles_x);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Transpose, launch);
