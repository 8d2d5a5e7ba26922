// Step 01 writes 4 bytes of each sector it touches. Idea: let the lanes run down a column of the input, so that the
// writes are coalesced and the reads strided. The counters only swap: 32 sectors per load, 4 per store. But L1 keeps
// what a load brought, and the next seven warps of the block find their words there; a store is not kept in L1.
// Expect: two to three times step 01.
// Next question: would the read-only path, __ldg, help the strided reads?
#include "transpose.cuh"

constexpr int kTile = 32;

__global__ void transpose_coalesced_write(const float* __restrict__ in, float* __restrict__ out, std::size_t rows,
                                          std::size_t cols, unsigned tiles_x) {
  const std::size_t col = static_cast<std::size_t>(blockIdx.x % tiles_x) * kTile + threadIdx.y;
  const std::size_t row = static_cast<std::size_t>(blockIdx.x / tiles_x) * kTile + threadIdx.x;
  if (row < rows && col < cols) out[col * rows + row] = in[row * cols + col];
}

static void launch(const float* in, float* out, std::size_t rows, std::size_t cols) {
  if (rows == 0 || cols == 0) return;
  const auto tiles_x = static_cast<unsigned>(ceil_div(cols, kTile));
  const auto tiles_y = static_cast<unsigned>(ceil_div(rows, kTile));
  transpose_coalesced_write<<<tiles_x * tiles_y, dim3(kTile, kTile)>>>(in, out, rows, cols, tiles_x);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Transpose, launch);
