// bug: the load tests that the row or the column is inside, not both, so it reads past the end of rows and of the
// matrix. These values are never stored.
// caught by: cpu forward | SIGSEGV
// caught by: cpu-asan forward | heap-buffer-overflow
// caught by: cpu-trace | reaches outside the allocation
// caught by: gpu memcheck | Invalid __global__ read | --rows=33 --cols=35
// stage: memory
#include "../transpose.cuh"

constexpr int kTile = 32;

__global__ void transpose_reads_past_the_end(const float* in, float* out, std::size_t rows, std::size_t cols,
                                             unsigned tiles_x) {
  __shared__ float tile[kTile][kTile + 1];
  const std::size_t row0 = std::size_t{blockIdx.x / tiles_x} * kTile, col0 = std::size_t{blockIdx.x % tiles_x} * kTile;
  std::size_t row = row0 + threadIdx.y, col = col0 + threadIdx.x;
  if (row < rows || col < cols) tile[threadIdx.y][threadIdx.x] = in[row * cols + col];
  __syncthreads();
  row = col0 + threadIdx.y;
  col = row0 + threadIdx.x;
  if (row < cols && col < rows) out[row * rows + col] = tile[threadIdx.x][threadIdx.y];
}

static void launch(const float* in, float* out, std::size_t rows, std::size_t cols) {
  if (rows == 0 || cols == 0) return;
  const auto tiles_x = static_cast<unsigned>(ceil_div(cols, kTile)),
             tiles_y = static_cast<unsigned>(ceil_div(rows, kTile));
  transpose_reads_past_the_end<<<tiles_x * tiles_y, dim3(kTile, kTile)>>>(in, out, rows, cols, tiles_x);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Transpose, launch);
