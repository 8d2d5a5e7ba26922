// Problem:  a column of step 04's tile lies in one bank: 32 wavefronts per load.
// Idea:     rows of 33 words. Word 33 t + j lies in bank (t + j) % 32, so a column has one word in each bank.
// Expect:   0.8 to 1.0x cuBLAS, 0.7 to 0.9 of a copy: 1 wavefront per shared request, 4 sectors per global one.
// Measured: 1.73x step 04, 0.46x cuBLAS at 8192x8192 (H200); 1.66x, 0.57x (H100).
// Why:      0.42 of a copy (H200); copy_row, without a tile, has 0.48: one load per thread is the limit now.
// Next:     can you do without the wasted column?
#include "transpose.cuh"

constexpr int kTile = 32;

__global__ void transpose_padded(const float* __restrict__ in, float* __restrict__ out, std::size_t rows,
                                 std::size_t cols) {
  __shared__ float tile[kTile][kTile + 1];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const std::size_t col0 = std::size_t{blockIdx.x} * kTile;
  const std::size_t row0 = std::size_t{blockIdx.y} * kTile;
  // load: along the rows of the input
  if (row0 + ty < rows && col0 + tx < cols) tile[ty][tx] = in[(row0 + ty) * cols + col0 + tx];
  __syncthreads();
  // store: along the rows of the output, with the bounds swapped
  if (col0 + ty < cols && row0 + tx < rows) out[(col0 + ty) * rows + row0 + tx] = tile[tx][ty];
}

static void launch(const float* in, float* out, std::size_t rows, std::size_t cols) {
  if (rows == 0 || cols == 0) return;
  const dim3 block(kTile, kTile), grid(ceil_div(cols, kTile), ceil_div(rows, kTile));
  transpose_padded<<<grid, block>>>(in, out, rows, cols);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Transpose, launch, kTile);
