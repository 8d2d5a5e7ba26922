// Problem:  step 02 depends on L1 for its strided loads.
// Idea:     __ldg takes the read-only path, by default Kepler's (sm_35) only cache above L2. Old guides promise a gain.
// Expect:   1.0x step 02. Since Volta one L1 serves all loads, and const float* __restrict__ alone gives ld.global.nc.
// Measured: 1.00x step 02, 0.37x cuBLAS at 8192x8192 (H200); 1.00x, 0.47x (H100).
// Next:     who promises that no thread writes `in`? (You, by __restrict__ or __ldg. If one does, loads may be stale.)
#include "transpose.cuh"

constexpr int kTile = 32;

__global__ void transpose_ldg(const float* __restrict__ in, float* __restrict__ out, std::size_t rows,
                              std::size_t cols) {
  const std::size_t col = std::size_t{blockIdx.x} * kTile + threadIdx.y;
  const std::size_t row = std::size_t{blockIdx.y} * kTile + threadIdx.x;
  if (row < rows && col < cols) out[col * rows + row] = __ldg(&in[row * cols + col]);
}

static void launch(const float* in, float* out, std::size_t rows, std::size_t cols) {
  if (rows == 0 || cols == 0) return;
  const dim3 block(kTile, kTile), grid(ceil_div(cols, kTile), ceil_div(rows, kTile));
  transpose_ldg<<<grid, block>>>(in, out, rows, cols);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Transpose, launch, kTile);
