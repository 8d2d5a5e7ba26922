// Step 02 writes 32 floats into one bank: 32 passes. Idea: one column more. Rows of 33 floats move each row's start to
// the next bank, so a column lies in 32 different ones, and so does a row.
// Expect: the write takes one pass; 1.3 times as fast in all.
// Next question: C is symmetric. What would computing half of it save? (Half the products and reads, no writes, and C's
// writes are most of the traffic here.)
#include "aat.cuh"

constexpr unsigned kTile = 32;

__global__ void aat_padded(std::size_t m, std::size_t k, const float* __restrict__ A, float* __restrict__ C,
                           unsigned tiles) {
  __shared__ float a[kTile][kTile], b[kTile][kTile + 1];
  const unsigned tx = threadIdx.x, ty = threadIdx.y;
  const std::size_t row0 = std::size_t{blockIdx.x / tiles} * kTile, column0 = std::size_t{blockIdx.x % tiles} * kTile;
  float sum = 0.0f;
  for (std::size_t l0 = 0; l0 < k; l0 += kTile) {
    a[ty][tx] = row0 + ty < m && l0 + tx < k ? A[(row0 + ty) * k + l0 + tx] : 0.0f;
    b[tx][ty] = column0 + ty < m && l0 + tx < k ? A[(column0 + ty) * k + l0 + tx] : 0.0f;
    __syncthreads();
#pragma unroll
    for (unsigned l = 0; l < kTile; ++l) sum += a[ty][l] * b[l][tx];
    __syncthreads();
  }
  if (row0 + ty < m && column0 + tx < m) C[(row0 + ty) * m + column0 + tx] = sum;
}

static void launch(std::size_t m, std::size_t k, const float* A, float* C) {
  if (m == 0) return;
  const auto tiles = static_cast<unsigned>(ceil_div(m, kTile));
  const dim3 block(kTile, kTile);
  aat_padded<<<tiles * tiles, block>>>(m, k, A, C, tiles);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Aat, launch);
