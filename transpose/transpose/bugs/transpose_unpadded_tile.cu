// bug: the tile has 32 words per row but is indexed with a pitch of 33, so the last rows lie past its end
// caught by: cpu forward | past the end of a variable
// caught by: cpu-asan forward | out of bounds
// caught by: gpu memcheck | Invalid __shared__ | --rows=64 --cols=64
// stage: memory
#include "../transpose.cuh"

constexpr int kTile = 32;
constexpr int kPitch = kTile + 1;

__global__ void transpose_unpadded(const float* __restrict__ in, float* __restrict__ out, std::size_t rows,
                                   std::size_t cols) {
  __shared__ float tile[kTile * kTile];  // kTile * kPitch
  const int tx = threadIdx.x, ty = threadIdx.y;
  const std::size_t col0 = std::size_t{blockIdx.x} * kTile;
  const std::size_t row0 = std::size_t{blockIdx.y} * kTile;
  if (row0 + ty < rows && col0 + tx < cols) tile[ty * kPitch + tx] = in[(row0 + ty) * cols + col0 + tx];
  __syncthreads();
  if (col0 + ty < cols && row0 + tx < rows) out[(col0 + ty) * rows + row0 + tx] = tile[tx * kPitch + ty];
}

static void launch(const float* in, float* out, std::size_t rows, std::size_t cols) {
  if (rows == 0 || cols == 0) return;
  const dim3 block(kTile, kTile), grid(ceil_div(cols, kTile), ceil_div(rows, kTile));
  transpose_unpadded<<<grid, block>>>(in, out, rows, cols);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Transpose, launch, kTile);
